"""Personal API keys: made by a user, for that user's own scripts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from penstock.central.access import keys, store
from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.access.keys import NewKey
from penstock.central.access.store import Key
from penstock.central.tenants import service as tenants
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, NotFound
from penstock_contracts.ids import UserId

LIFE_MAX: Final = timedelta(days=365)
ORDER: Final = ("read", "use", "administer")


async def create(
    tx: Tx, actor: Actor, *, name: str, scopes: Sequence[str], days: int
) -> tuple[NewKey, datetime]:
    """A key for oneself: no more than one may do, no more than one's own token may."""
    if actor.kind != "user" or actor.tenant_id is None:
        raise Forbidden("a personal key belongs to a user; sign in with `penstock login` first")
    own = await tenants.with_status(tx, Resource("key", None, actor.tenant_id))
    authorize(actor, "key.create_own", own)
    widest = max((ORDER.index(scope) for scope in actor.scopes or ()), default=-1)
    if any(ORDER.index(scope) > widest for scope in scopes):
        raise Forbidden("a key cannot do more than the token with which it is made")
    expires_at = tx.now + timedelta(days=days)
    made = await keys.create(
        tx, actor, tenant_id=actor.tenant_id, name=name, role=actor.role,
        user_id=UserId(actor.user_id), scopes=scopes, expires_at=expires_at,
    )  # fmt: skip
    return made, expires_at


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Key]:
    """One's own; all of the tenant's for who administers it."""
    everyones = Resource("key", None, actor.tenant_id)
    authorize(actor, "key.list", everyones)
    own = None if permits(actor, "key.oversee", everyones) else actor.user_id
    return await store.page(tx, own, after, limit)


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
