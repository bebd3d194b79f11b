"""Invitations: whoever holds one becomes a user, or gets a new password, once."""

import hashlib
import secrets
from dataclasses import dataclass, field, replace

from penstock.central.access import endings, handing
from penstock.central.access.authorization import Resource
from penstock.central.realms import owners
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import service, store
from penstock.central.realms.users.model import INVITATION_KEPT, INVITATION_LIFE, User
from penstock.central.realms.users.store import Invitation
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import HERE
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid
from penstock_contracts import addresses
from penstock_contracts.ids import InvitationId, TenantId


@dataclass(frozen=True)
class NewInvitation:
    invitation: Invitation
    token: str = field(repr=False)


async def invite(
    tx: Tx, actor: Actor, *, email: str, role: str, tenant: str | None
) -> NewInvitation:
    """Let someone in. Who holds the token, and nobody twice, becomes this user."""
    owner = await owners.of(tx, actor, tenant, "user.invite")
    where, given = Resource("user", None, owner), handing.top(role, owner)
    handing.refuse_wider(actor, "user.invite", where, given, handing.TOP)
    address = addresses.normal(email)
    if address is None:
        raise Invalid(f"email: {email[:64]!r} is not an address")
    if await store.lock_by_email(tx, owner, address) is not None:
        raise Conflict(
            f"there is a user {address} already",
            code="name_taken",
            suggestion="for a new password: `penstock user reset`",
        )
    made = await _make(tx, owner, address, role)
    id = made.invitation.id
    audit.record(tx, actor, "user.invite", id, tenant_id=owner, email=address, role=role)
    events.emit(tx, "user.invited", id, tenant_id=owner, email=address, role=role)
    await hosting.invited(tx, owner)
    return made


async def ensure(tx: Tx, actor: Actor, tenant_id: TenantId, *, email: str, role: str) -> bool:
    """Someone with this address is in, or was invited; whether that needed a new invitation.

    Nobody knows its token: who passes it on asks for a new one with `invite`.
    """
    address = addresses.normal(email) or email
    if await store.lock_by_email(tx, tenant_id, address) is not None:
        return False
    if await store.lock_invitation_by_email(tx, tenant_id, address) is not None:
        return False
    await invite(tx, actor, email=email, role=role, tenant=tenant_id)
    return True


async def reset(tx: Tx, actor: Actor, id: str, *, second_factor: bool) -> NewInvitation:
    """A way back in for someone who forgot their password, or lost their second factor too.

    Both stay as they are until it is accepted: an old password alone never lets anyone in.
    """
    user = await service.handed_on(tx, actor, id, "user.reset")
    await hosting.refuse_hosted(tx, user.tenant_id, "a password")
    made = await _make(
        tx, user.tenant_id, user.email, user.role, clears_second_factor=second_factor
    )
    audit.record(
        tx, actor, "user.reset", user.id, tenant_id=user.tenant_id, second_factor=second_factor,
        before={"second_factor": user.totp is not None},
    )  # fmt: skip
    events.emit(tx, "user.reset", user.id, tenant_id=user.tenant_id, second_factor=second_factor)
    return made


async def find(tx: Tx, tenant_id: TenantId, token: str) -> Invitation | None:
    """The invitation, if it can still be accepted: nobody comes to a tenant that leaves."""
    found = await store.lock_invitation(tx, tenant_id, hash_token(token))
    if found is None or found.accepted_at is not None or found.expires_at <= tx.now:
        return None
    if await tenants.status(tx, tenant_id) not in HERE:
        return None
    return found


async def accept(tx: Tx, invitation: Invitation, *, name: str, password: str) -> User:
    """Become a user, or get a new password. `password` is hashed already."""
    tenant_id, email = invitation.tenant_id, invitation.email
    known = await store.lock_by_email(tx, tenant_id, email)
    if known is None:
        user = await service.add(
            tx, tenant_id, email=email, name=name, role=invitation.role, password=password
        )
    elif known.disabled_at is not None:
        raise Conflict(f"user {email} is disabled; an invitation does not change that")
    else:
        user = _renewed(known, invitation, name=name, password=password)
        await store.save(tx, user)
        await sessions.end_of_user(tx, user.id, "the password was reset")
        await endings.of_user(tx, service.actor_of(user), user.id, "the password was reset")
        audit.record(
            tx, service.actor_of(user), "user.change_password", user.id,
            second_factor_cleared=invitation.clears_second_factor,
        )  # fmt: skip
    await _close(tx, tenant_id, email)
    return user


def _renewed(known: User, invitation: Invitation, *, name: str, password: str) -> User:
    user = replace(known, name=name, password=password, failures=0, locked_until=None)
    return replace(user, totp=None, totp_step=0) if invitation.clears_second_factor else user


async def admit(tx: Tx, tenant_id: TenantId, email: str | None, name: str) -> User | None:
    """Someone for whose address another issuer vouches: known or invited by it, not disabled."""
    address = addresses.normal(email or "")
    if address is None:
        return None
    user = await store.lock_by_email(tx, tenant_id, address)
    if user is None:
        user = await _accept_by_address(tx, tenant_id, address, name or address)
    if user is None:  # by another request of theirs, just now?
        user = await store.lock_by_email(tx, tenant_id, address)
    return user if user is not None and user.disabled_at is None else None


async def _accept_by_address(tx: Tx, tenant_id: TenantId, email: str, name: str) -> User | None:
    invitation = await store.lock_invitation_by_email(tx, tenant_id, email)
    if invitation is None or await tenants.status(tx, tenant_id) not in HERE:
        return None
    user = await service.add(
        tx, tenant_id, email=email, name=name, role=invitation.role, password=None
    )
    await _close(tx, tenant_id, email)
    return user


async def forget(tx: Tx, limit: int) -> int:
    """Those that were good long ago."""
    return await store.forget_invitations(tx, tx.now - INVITATION_KEPT, limit)


async def _make(
    tx: Tx, tenant_id: TenantId, email: str, role: str, *, clears_second_factor: bool = False
) -> NewInvitation:
    """The newest is the only one: an older link is good no more."""
    await _close(tx, tenant_id, email)
    token = secrets.token_urlsafe(32)
    until = tx.now + INVITATION_LIFE
    invitation = Invitation(
        InvitationId.new(), tenant_id, email, role, tx.now, until,
        clears_second_factor=clears_second_factor,
    )  # fmt: skip
    await store.add_invitation(tx, invitation, hash_token(token))
    return NewInvitation(invitation, token)


async def _close(tx: Tx, tenant_id: TenantId, email: str) -> None:
    """An open invitation of someone who is in would be a way to their password."""
    await store.close_invitations(tx, tenant_id, email)


def hash_token(token: str) -> bytes:
    """A token is 256 random bits, so one fast hash is enough to store it."""
    return hashlib.sha256(token.encode()).digest()
