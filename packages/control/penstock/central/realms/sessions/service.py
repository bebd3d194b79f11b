"""What may be done to a session. The caller owns the transaction."""

import hashlib
import secrets

from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.realms.sessions import store
from penstock.central.realms.sessions.model import (
    AGENT_LENGTH_MAX,
    BROWSER_LIFE,
    KEPT,
    SEEN_EVERY,
    Session,
)
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import SessionId, TenantId, UserId


async def start_browser(
    tx: Tx, tenant_id: TenantId, user_id: UserId, *, amr: tuple[str, ...], agent: str
) -> tuple[Session, str]:
    """Someone proved who they are. The cookie is known to their browser alone."""
    cookie = secrets.token_urlsafe(32)
    session = Session(
        id=SessionId.new(),
        tenant_id=tenant_id,
        user_id=user_id,
        client_id=None,
        parent_id=None,
        scope="",
        amr=amr,
        agent=agent[:AGENT_LENGTH_MAX],
        auth_at=tx.now,
        created_at=tx.now,
        seen_at=tx.now,
        expires_at=tx.now + BROWSER_LIFE,
    )
    await store.add(tx, session, hash_cookie(cookie))
    actor = Actor("user", user_id, "user", tenant_id)
    audit.record(tx, actor, "session.start", session.id, user=user_id, amr=amr)
    events.emit(tx, "session.started", session.id, tenant_id=tenant_id, user=user_id)
    return session, cookie


async def of_cookie(tx: Tx, tenant_id: TenantId, cookie: str) -> Session | None:
    """The live session of a browser."""
    session = await store.by_hash(tx, tenant_id, hash_cookie(cookie))
    if session is None or not session.live(tx.now):
        return None
    if tx.now - session.seen_at > SEEN_EVERY:
        await store.touch(tx, session.id)
    return session


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Session]:
    """One's own; all of the tenant's for who administers it."""
    everyones = Resource("session", None, actor.tenant_id)
    authorize(actor, "session.list", everyones)
    own = None if permits(actor, "session.oversee", everyones) else actor.user_id
    return await store.page(tx, own, after, limit)


async def revoke(tx: Tx, actor: Actor, id: str) -> Session:
    """End a session: its tokens are good no more. People may end their own."""
    session = await store.find(tx, id)
    if session is None:
        raise NotFound("session", id)
    if session.user_id == actor.user_id:
        _authorize_own(actor, session)
    else:
        authorize(actor, "session.revoke", Resource("session", session.id, session.tenant_id))
    await end(tx, actor, session, tx.reason or "revoked")
    return session


async def page_of_user(tx: Tx, user_id: UserId, limit: int) -> list[Session]:
    return await store.page(tx, user_id, "", limit)


async def end_own(tx: Tx, actor: Actor, id: str) -> None:
    session = await store.find(tx, id)
    if session is None or session.user_id != actor.user_id:
        raise NotFound("session", id)
    _authorize_own(actor, session)
    await end(tx, actor, session, "ended by its owner")


def _authorize_own(actor: Actor, session: Session) -> None:
    about = Resource("session", session.id, session.tenant_id)
    authorize(actor, "session.revoke_own", about, seen="session.list")


async def end(tx: Tx, actor: Actor, session: Session, reason: str) -> None:
    """End it and those that came from it, once."""
    if await store.end(tx, session.id, reason):
        audit.record(
            tx, actor, "session.end", session.id, tenant_id=session.tenant_id,
            reason=reason, user=session.user_id,
        )  # fmt: skip
        events.emit(
            tx, "session.ended", session.id, tenant_id=session.tenant_id, user=session.user_id,
            reason=reason,
        )  # fmt: skip


async def end_of_user(tx: Tx, user_id: UserId, reason: str, *, client_id: str | None = None) -> int:
    """All that a person has; of one client, if it is named."""
    return await store.end_of_user(tx, user_id, reason, client_id=client_id)


async def end_of_client(tx: Tx, tenant_id: TenantId, client_id: str, reason: str) -> int:
    return await store.end_of_client(tx, tenant_id, client_id, reason)


async def forget(tx: Tx, limit: int) -> int:
    """Those that were over long ago. The audit log knows of them for ever."""
    return await store.forget(tx, tx.now - KEPT, limit)


async def add(tx: Tx, session: Session) -> None:
    """A client was let in."""
    await store.add(tx, session, None)


async def lock(tx: Tx, id: str) -> Session | None:
    return await store.lock(tx, id)


async def lives(tx: Tx, id: str) -> bool:
    """Whether it is there, and neither over nor ended."""
    session = await store.find(tx, id)
    return session is not None and session.live(tx.now)


async def touch(tx: Tx, id: SessionId) -> None:
    await store.touch(tx, id)


def hash_cookie(cookie: str) -> bytes:
    """A cookie is 256 random bits, so one fast hash is enough to store it."""
    return hashlib.sha256(cookie.encode()).digest()
