"""What may be done to a user. The caller owns the transaction."""

from dataclasses import replace

from penstock.central.access import endings, grants, handing
from penstock.central.access.authorization import Resource, authorize
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import store
from penstock.central.realms.users.model import User
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import TenantId, UserId


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[User]:
    authorize(actor, "user.view", Resource("user", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def get(tx: Tx, actor: Actor, id: str) -> User:
    user = await store.find(tx, id)
    if user is None:
        raise NotFound("user", id)
    authorize(actor, "user.view", Resource("user", user.id, user.tenant_id))
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


async def change_role(tx: Tx, actor: Actor, id: str, role: str) -> User:
    """Their role in the tenant as a whole, from their next request on."""
    user = await locked(tx, actor, id, "user.update")
    if user.id == actor.user_id:
        raise Conflict("you cannot change your own role; ask another admin")
    if user.role == role:
        return user
    given = handing.top(role, user.tenant_id)
    handing.refuse_wider(actor, "user.update", _resource(user), given, handing.TOP)
    changed = replace(user, role=role)
    await store.save(tx, changed)
    audit.record(
        tx, actor, "user.update", user.id, tenant_id=user.tenant_id,
        role=role, before={"role": user.role},
    )  # fmt: skip
    events.emit(tx, "user.updated", user.id, tenant_id=user.tenant_id, role=role)
    return changed


async def disable(tx: Tx, actor: Actor, id: str) -> User:
    """They are out at once, from everywhere, and cannot come back in. Their sessions and keys do
    not come back with them either."""
    user = await locked(tx, actor, id, "user.disable")
    if user.id == actor.user_id:
        raise Conflict("you cannot disable yourself; ask another admin")
    await store.save(tx, replace(user, disabled_at=user.disabled_at or tx.now))
    await sessions.end_of_user(tx, user.id, "the user was disabled")
    await endings.of_user(tx, actor, user.id, "the user was disabled")
    audit.record(
        tx, actor, "user.disable", user.id, tenant_id=user.tenant_id, before=_standing(user)
    )
    events.emit(tx, "user.disabled", user.id, tenant_id=user.tenant_id)
    return replace(user, disabled_at=user.disabled_at or tx.now)


async def enable(tx: Tx, actor: Actor, id: str) -> User:
    """Let a disabled or locked user in again."""
    user = await handed_on(tx, actor, id, "user.enable")
    enabled = replace(user, disabled_at=None, failures=0, locked_until=None)
    await store.save(tx, enabled)
    audit.record(
        tx, actor, "user.enable", user.id, tenant_id=user.tenant_id, before=_standing(user)
    )
    events.emit(tx, "user.enabled", user.id, tenant_id=user.tenant_id)
    return enabled


async def find(tx: Tx, id: str) -> User | None:
    """A user who may still come in."""
    user = await store.find(tx, id)
    return user if user is not None and user.disabled_at is None else None


async def hold(tx: Tx, id: UserId) -> bool:
    """Nobody shuts them out, or gives them a new password, until the transaction ends. False if
    they are out already."""
    return await store.hold(tx, id)


async def lock(tx: Tx, id: UserId) -> None:
    """Nobody makes a key for them until the transaction ends."""
    await store.lock(tx, id)


async def locked(tx: Tx, actor: Actor, id: str, action: str) -> User:
    """A user on whom the actor may act so, until the transaction ends."""
    user = await store.lock(tx, id)
    if user is None:
        raise NotFound("user", id)
    authorize(actor, action, await tenants.with_status(tx, _resource(user)))
    return user


async def handed_on(tx: Tx, actor: Actor, id: str, action: str) -> User:
    """A user whose roles the actor may hand on: who holds a way to their password, or brings them
    back, may be them."""
    user = await locked(tx, actor, id, action)
    given = {*handing.top(user.role, user.tenant_id), *await grants.of(tx, user.id)}
    handing.refuse_wider(actor, action, _resource(user), given, handing.THEIRS)
    return user


def _resource(user: User) -> Resource:
    return Resource("user", user.id, user.tenant_id)


def _standing(user: User) -> dict[str, object]:
    """What lets them in or keeps them out, for the audit log."""
    return {
        "disabled_at": user.disabled_at,
        "failures": user.failures,
        "locked_until": user.locked_until,
    }


def actor_of(user: User) -> Actor:
    return Actor("user", user.id, user.role, user.tenant_id, user_id=user.id)
