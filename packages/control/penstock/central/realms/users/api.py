"""Users over HTTP."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Depends, Request

from penstock.central.access.roles import TenantRole
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.service import Realms
from penstock.central.realms.users import invitations, service
from penstock.central.realms.users.invitations import NewInvitation
from penstock.central.realms.users.model import User
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Email, Reference

router = APIRouter(prefix="/v1/users", tags=["users"], route_class=TxRoute)


class NewUser(Body):
    email: Email
    role: TenantRole = "member"
    tenant: Reference | None = None


class UserChange(Body):
    role: TenantRole


class Reset(Body):
    second_factor: bool = False


class UserView(View):
    id: str
    tenant: str
    email: str
    name: str
    role: str
    second_factor: bool
    status: Literal["active", "disabled", "locked"]
    created_at: datetime

    @classmethod
    def of(cls, user: User, now: datetime) -> "UserView":
        return cls(
            id=user.id,
            tenant=user.tenant_id,
            email=user.email,
            name=user.name,
            role=user.role,
            second_factor=user.totp is not None,
            status="disabled" if user.disabled_at else "locked" if user.locked(now) else "active",
            created_at=user.created_at,
        )


class InvitationView(View):
    id: str
    tenant: str
    email: str
    role: str
    url: str
    expires_at: datetime


@router.get("")
async def list_users(actor: Caller, tx: Tx, paging: PageQuery) -> Page[UserView]:
    """The people of your tenant."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, lambda user: UserView.of(user, tx.now), lambda user: user.id)


@router.post("/invite", status_code=201, dependencies=[Depends(shown_once)])
async def invite_user(body: NewUser, actor: Caller, tx: Tx, request: Request) -> InvitationView:
    """Invite someone. The address to send them is shown only now, and works once."""
    made = await invitations.invite(tx, actor, email=body.email, role=body.role, tenant=body.tenant)
    return await _shown(request, tx, made)


@router.get("/{id}")
async def get_user(id: str, actor: Caller, tx: Tx) -> UserView:
    """One user."""
    return UserView.of(await service.get(tx, actor, id), tx.now)


@router.patch("/{id}")
async def change_user(id: str, body: UserChange, actor: Caller, tx: Tx) -> UserView:
    """Change someone's role in the tenant as a whole. `none`: only what is bound to them."""
    return UserView.of(await service.change_role(tx, actor, id, body.role), tx.now)


@router.post("/{id}/disable")
async def disable_user(id: str, actor: Caller, tx: Tx) -> UserView:
    """Shut someone out: their sessions, tokens and keys are good no more."""
    return UserView.of(await service.disable(tx, actor, id), tx.now)


@router.post("/{id}/enable")
async def enable_user(id: str, actor: Caller, tx: Tx) -> UserView:
    """Let someone who was disabled, or locked out by wrong passwords, in again."""
    return UserView.of(await service.enable(tx, actor, id), tx.now)


@router.post("/{id}/reset", status_code=201, dependencies=[Depends(shown_once)])
async def reset_user(
    id: str, body: Reset, actor: Caller, tx: Tx, request: Request
) -> InvitationView:
    """A way back in for someone who forgot their password. Shown only now, works once."""
    made = await invitations.reset(tx, actor, id, second_factor=body.second_factor)
    return await _shown(request, tx, made)


async def _shown(request: Request, tx: Tx, made: NewInvitation) -> InvitationView:
    realms: Realms = request.app.state.realms
    invitation = made.invitation
    hosted = await hosting.find(tx, invitation.tenant_id)
    realm = await realms.of(tx, invitation.tenant_id)
    url = realm.at(f"invitation?token={made.token}")
    if hosted is not None:  # who comes in there, with this address verified, is the one invited
        url = hosted.hosted.welcome_url if hosted.hosted else ""
    return InvitationView(
        id=invitation.id,
        tenant=invitation.tenant_id,
        email=invitation.email,
        role=invitation.role,
        url=url,
        expires_at=invitation.expires_at,
    )
