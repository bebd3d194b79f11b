"""What may be done to a realm that lives elsewhere. The caller owns the transaction."""

from collections.abc import Mapping
from typing import Final

from penstock.central.realms.hosts import store
from penstock.central.realms.hosts.model import EMBEDDED, HostedRealm, State
from penstock.kernel import wakeups
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Conflict
from penstock_contracts import addresses
from penstock_contracts.ids import TenantId, UserId

MOVED: Final = "hosted realms"  # who waits for this is told when a provider has to be called


async def order(tx: Tx, tenant_id: TenantId, name: str, provider: str) -> None:
    """The realm shall be at the provider. Its row is there already."""
    await store.add(tx, HostedRealm(tenant_id, name, provider))
    wakeups.notify(tx, MOVED)


async def find(tx: Tx, tenant_id: TenantId) -> HostedRealm | None:
    """None if the realm is central's own."""
    return await store.find(tx, tenant_id)


async def facts(database: Database, issuer: str, subject: str) -> Mapping[str, object] | None:
    """What is known of an issuer's realm, and of the user whom it calls by this name."""
    rows = await database.fetch(store.FACTS, issuer, subject)
    return dict(rows[0]) if rows else None


async def link(tx: Tx, tenant_id: TenantId, subject: str, user_id: UserId) -> bool:
    """The realm's provider calls this user so from now on. Whether that is new."""
    return await store.link(tx, tenant_id, subject, user_id)


async def provider_of(tx: Tx, tenant_id: TenantId) -> str:
    realm = await store.find(tx, tenant_id)
    return EMBEDDED if realm is None else realm.provider


async def want(tx: Tx, tenant_id: TenantId, desired: State) -> HostedRealm | None:
    """From now on the realm shall be so; asking again changes nothing."""
    realm = await store.find(tx, tenant_id, lock=True)
    if realm is None or realm.desired is desired:
        return realm
    changed = realm.wants(desired)
    await store.save(tx, changed)
    wakeups.notify(tx, MOVED)
    return changed


async def invited(tx: Tx, tenant_id: TenantId) -> None:
    """Someone was: their provider shall know, if there is one."""
    if await store.find(tx, tenant_id) is not None:
        wakeups.notify(tx, MOVED)


async def carries(tx: Tx, tenant_id: TenantId, email: str) -> HostedRealm | None:
    """The realm whose provider does not know of this invitation yet."""
    realm = await store.find(tx, tenant_id)
    if realm is None or await store.is_carried(tx, tenant_id, addresses.normal(email) or email):
        return None
    return realm


async def refuse_hosted(tx: Tx, tenant_id: TenantId, what: str) -> None:
    """For what a realm's provider decides, and central cannot."""
    realm = await store.find(tx, tenant_id)
    if realm is not None:
        raise elsewhere(realm, what)


def elsewhere(realm: HostedRealm, what: str) -> Conflict:
    issuer = realm.hosted.issuer if realm.hosted else None
    return Conflict(
        f"realm {realm.name} lives at {realm.provider}; {what} cannot be changed or used here",
        code="realm_elsewhere",
        suggestion=f"use {issuer}" if issuer else "wait until it is made there",
        extras={"issuer": issuer} if issuer else {},
    )
