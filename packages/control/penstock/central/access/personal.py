"""Personal API keys: made by a user, for that user's own scripts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from penstock.central.access import keys, store
from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.access.keys import NewKey
from penstock.central.access.model import Key
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import service as users
from penstock.central.tenants import service as tenants
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, NotFound, Unauthenticated
from penstock_contracts.ids import UserId

LIFE_MAX: Final = timedelta(days=365)
ORDER: Final = ("read", "use", "administer")


async def create(
    tx: Tx, actor: Actor, *, name: str, scopes: Sequence[str], days: int
) -> tuple[NewKey, datetime]:
    """A key for oneself: no more than one may do, no more than one's own token may.

    A token makes keys only if whoever let its client in let it do that: a key outlives the session.
    """
    if actor.kind != "user" or actor.tenant_id is None:
        raise Forbidden("a personal key belongs to a user; sign in with `penstock login` first")
    own = await tenants.with_status(tx, Resource("key", None, actor.tenant_id))
    authorize(actor, "key.create_own", own)
    held = (scope for scope in actor.scopes or () if scope in ORDER)
    widest = max((ORDER.index(scope) for scope in held), default=-1)
    if any(ORDER.index(scope) > widest for scope in scopes):
        raise Forbidden("a key cannot do more than the token with which it is made")
    owner, expires_at = UserId(actor.user_id), tx.now + timedelta(days=days)
    # Whoever shuts them out or ends their keys waits for this, or was before and is seen now.
    inside = await users.hold(tx, owner)
    if not inside or (actor.session_id and not await sessions.lives(tx, actor.session_id)):
        raise Unauthenticated("your session ended; sign in again", suggestion="`penstock login`")
    made = await keys.create(
        tx, actor, tenant_id=actor.tenant_id, name=name, role=actor.role, user_id=owner,
        scopes=scopes, expires_at=expires_at, client_id=actor.client_id or None,
    )  # fmt: skip
    return made, expires_at


async def live(tx: Tx, user_id: UserId, limit: int) -> list[Key]:
    """Those of one person that are good, the newest first."""
    return await store.live_of_user(tx, user_id, limit)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Key]:
    """One's own; all of the tenant's for who administers it."""
    everyones = Resource("key", None, actor.tenant_id)
    authorize(actor, "key.list", everyones)
    own = None if permits(actor, "key.oversee", everyones) else actor.user_id
    return await store.page(tx, own, after, limit)


async def revoke_own(tx: Tx, actor: Actor, id: str) -> Key:
    """End a key that is the actor's; another's does not exist here, whatever the actor may."""
    found = await store.lock(tx, id)
    if found is None or found.user_id != actor.user_id:
        raise NotFound("key", id)
    return await revoke(tx, actor, id)


async def revoke(tx: Tx, actor: Actor, id: str) -> Key:
    """End a key. People may end their own, and whoever holds such a key, that one."""
    found = await store.lock(tx, id)
    if found is None:
        raise NotFound("key", id)
    about = Resource("key", found.id, found.tenant_id)
    if found.user_id is None or found.user_id != actor.user_id:
        authorize(actor, "key.revoke", about)
    else:
        action = "key.revoke_self" if found.id == actor.id else "key.revoke_own"
        authorize(actor, action, about, seen="key.list")
    await store.revoke(tx, found.id)
    before = {"name": found.name, "role": found.role, "revoked_at": found.revoked_at}
    audit.record(tx, actor, "key.revoke", found.id, tenant_id=found.tenant_id, before=before)
    return replace(found, revoked_at=found.revoked_at or tx.now)
