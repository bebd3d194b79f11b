"""Sessions over HTTP."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter

from penstock.central.realms.sessions import service
from penstock.central.realms.sessions.model import Session
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=TxRoute)


class SessionView(View):
    id: str
    tenant: str
    user: str
    kind: Literal["browser", "client"]
    client: str | None
    scope: str
    factors: list[str]
    agent: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, session: Session) -> "SessionView":
        return cls(
            id=session.id,
            tenant=session.tenant_id,
            user=session.user_id,
            kind="browser" if session.client_id is None else "client",
            client=session.client_id,
            scope=session.scope,
            factors=list(session.amr),
            agent=session.agent,
            created_at=session.created_at,
            seen_at=session.seen_at,
            expires_at=session.expires_at,
        )


@router.get("")
async def list_sessions(actor: Caller, tx: Tx, paging: PageQuery) -> Page[SessionView]:
    """Who is in: your own sessions; as an admin, all of your tenant's."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, SessionView.of, lambda session: session.id)


@router.post("/{id}/revoke")
async def revoke_session(id: str, actor: Caller, tx: Tx) -> SessionView:
    """End a session, and with it every token that was issued for it."""
    return SessionView.of(await service.revoke(tx, actor, id))
