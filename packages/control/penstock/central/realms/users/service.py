"""What may be done to a user. The caller owns the transaction."""

import hashlib
import secrets
from dataclasses import dataclass, field, replace

from penstock.central.access.authorization import Resource, authorize
from penstock.central.realms import owners
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import model, store
from penstock.central.realms.users.model import INVITATION_LIFE, User
from penstock.central.realms.users.store import Invitation
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid, NotFound
from penstock_contracts.ids import InvitationId, TenantId, UserId


@dataclass(frozen=True)
class NewInvitation:
    invitation: Invitation
    token: str = field(repr=False)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[User]:
    authorize(actor, "user.view", Resource("user", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def get(tx: Tx, actor: Actor, id: str) -> User:
    user = await store.find(tx, id)
    if user is None:
        raise NotFound("user", id)
    authorize(actor, "user.view", Resource("user", user.id, user.tenant_id))
    return user


async def invite(
    tx: Tx, actor: Actor, *, email: str, role: str, tenant: str | None
) -> NewInvitation:
    """Let someone in. Who holds the token, and nobody twice, becomes this user."""
    owner = await owners.of(tx, actor, tenant)
    authorize(actor, "user.invite", Resource("user", None, owner))
    address = model.normal(email)
    if address is None:
        raise Invalid(f"email: {email[:64]!r} is not an address")
    if await store.lock_by_email(tx, owner, address) is not None:
        raise Conflict(f"there is a user {address} already", code="name_taken")
    token = secrets.token_urlsafe(32)
    invitation = Invitation(
        InvitationId.new(), owner, address, role, tx.now, tx.now + INVITATION_LIFE
    )
    await store.add_invitation(tx, invitation, hash_token(token))
    audit.record(tx, actor, "user.invite", invitation.id, tenant_id=owner, email=address, role=role)
    events.emit(tx, "user.invited", invitation.id, tenant_id=owner, email=address, role=role)
    return NewInvitation(invitation, token)


async def open_invitation(tx: Tx, tenant_id: TenantId, token: str) -> Invitation | None:
    """The invitation, if it can still be accepted."""
    found = await store.lock_invitation(tx, tenant_id, hash_token(token))
    if found is None or found.accepted_at is not None or found.expires_at <= tx.now:
        return None
    return found


async def accept(tx: Tx, invitation: Invitation, *, name: str, password: str) -> User:
    """Become a user. `password` is hashed already."""
    user = await add(
        tx, invitation.tenant_id, email=invitation.email, name=name, role=invitation.role,
        password=password,
    )  # fmt: skip
    await store.accept_invitation(tx, invitation.id)
    return user


async def accept_by_address(tx: Tx, tenant_id: TenantId, email: str, name: str) -> User | None:
    """Someone whose address another issuer vouches for, if they were invited by it."""
    invitation = await store.lock_invitation_by_email(tx, tenant_id, email)
    if invitation is None:
        return None
    user = await add(tx, tenant_id, email=email, name=name, role=invitation.role, password=None)
    await store.accept_invitation(tx, invitation.id)
    return user


async def add(
    tx: Tx, tenant_id: TenantId, *, email: str, name: str, role: str, password: str | None
) -> User:
    user = User(
        id=UserId.new(),
        tenant_id=tenant_id,
        email=email,
        name=name,
        role=role,
        password=password,
        totp=None,
        totp_step=0,
        failures=0,
        locked_until=None,
        created_at=tx.now,
    )
    await store.add(tx, user)
    audit.record(
        tx, actor_of(user), "user.create", user.id, tenant_id=tenant_id, email=email, role=role
    )
    events.emit(tx, "user.created", user.id, tenant_id=tenant_id, email=email, role=role)
    return user


async def disable(tx: Tx, actor: Actor, id: str) -> User:
    """They are out at once, from everywhere, and cannot come back in."""
    user = await _locked(tx, actor, id, "user.disable")
    if user.id == actor.id:
        raise Conflict("you cannot disable yourself; ask another admin")
    await store.save(tx, replace(user, disabled_at=user.disabled_at or tx.now))
    await sessions.end_of_user(tx, user.id, "the user was disabled")
    audit.record(tx, actor, "user.disable", user.id, tenant_id=user.tenant_id)
    events.emit(tx, "user.disabled", user.id, tenant_id=user.tenant_id)
    return replace(user, disabled_at=user.disabled_at or tx.now)


async def enable(tx: Tx, actor: Actor, id: str) -> User:
    """Let a disabled or locked user in again."""
    user = await _locked(tx, actor, id, "user.enable")
    enabled = replace(user, disabled_at=None, failures=0, locked_until=None)
    await store.save(tx, enabled)
    audit.record(tx, actor, "user.enable", user.id, tenant_id=user.tenant_id)
    events.emit(tx, "user.enabled", user.id, tenant_id=user.tenant_id)
    return enabled


async def find(tx: Tx, id: str) -> User | None:
    """A user who may still come in."""
    user = await store.find(tx, id)
    return user if user is not None and user.disabled_at is None else None


async def find_by_email(tx: Tx, tenant_id: TenantId, email: str) -> User | None:
    return await store.lock_by_email(tx, tenant_id, email)


async def _locked(tx: Tx, actor: Actor, id: str, action: str) -> User:
    user = await store.lock(tx, id)
    if user is None:
        raise NotFound("user", id)
    authorize(actor, action, Resource("user", user.id, user.tenant_id))
    return user


def actor_of(user: User) -> Actor:
    return Actor("user", user.id, user.role, user.tenant_id)


def hash_token(token: str) -> bytes:
    """A token is 256 random bits, so one fast hash is enough to store it."""
    return hashlib.sha256(token.encode()).digest()
