"""Shutting a realm: for a day on which its keys, or its people's passwords, are someone else's."""

from penstock.central.realms import owners, store
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.hosts.model import State
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def suspend(tx: Tx, actor: Actor, tenant: str | None, reason: str) -> TenantId:
    """Nobody comes in, and no token or personal key of it is believed, from now on. The tenant's
    own keys, and those of its service accounts, work as before."""
    return await _turn(tx, actor, tenant, "suspend", reason)


async def resume(tx: Tx, actor: Actor, tenant: str | None, reason: str) -> TenantId:
    return await _turn(tx, actor, tenant, "resume", reason)


async def _turn(tx: Tx, actor: Actor, tenant: str | None, verb: str, reason: str) -> TenantId:
    """Asking for what is so already changes nothing."""
    owner = await owners.of(tx, actor, tenant, f"realm.{verb}")
    suspended = verb == "suspend"
    if await store.suspend(tx, owner, suspended=suspended):
        await hosting.want(tx, owner, State.SUSPENDED if suspended else State.OPEN)
        audit.record(
            tx, actor, f"realm.{verb}", owner, tenant_id=owner, reason=reason,
            suspended=suspended, before={"suspended": not suspended},
        )  # fmt: skip
        event = "realm.suspended" if suspended else "realm.resumed"
        events.emit(tx, event, owner, tenant_id=owner, reason=reason)
    return owner
