"""What may be done to an API key that is there. The caller owns the transaction."""

from dataclasses import replace

from penstock.central.access import store
from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.access.model import Key
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import UserId


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
