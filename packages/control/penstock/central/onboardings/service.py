"""What may be done to an onboarding. The caller owns the transaction."""

from typing import Final

from penstock.central.access import handing
from penstock.central.access.authorization import Resource, authorize
from penstock.central.networks import service as networks
from penstock.central.onboardings import intents, store
from penstock.central.onboardings.file import TenantFile
from penstock.central.onboardings.hosts import Hosts
from penstock.central.onboardings.model import Onboarding
from penstock.central.onboardings.steps import domain
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events, wakeups
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock.kernel.events import Event
from penstock_contracts.ids import OnboardingId, TenantId

MOVED: Final = "onboardings"  # who waits for this is told when there is a step to take


async def create(tx: Tx, actor: Actor, file: TenantFile, hosts: Hosts) -> Onboarding:
    """Begin to make the tenant what the file says; the same that runs already is that one."""
    authorize(actor, "onboarding.create", Resource("onboarding"))
    given = handing.everything(TenantId(file.tenant))  # its first admin, whom the actor names
    handing.refuse_wider(actor, "onboarding.create", Resource("onboarding"), given, handing.THEIRS)
    intent = await intents.check(tx, file)
    known = await tenants.named(tx, file.tenant)
    provider = await hosts.choose(tx, file.realm, known)
    kept = {**file.model_dump(mode="json"), "realm": provider}
    running = await store.open_for(tx, file.tenant)
    if running is not None:
        if running.file == kept:
            return running
        raise _busy(running)
    if known is not None:
        domain.refuse_gone(known)
        await networks.refuse_less(tx, known.id, intent.networks)
    begun = Onboarding(
        id=OnboardingId.new(),
        name=file.tenant,
        file=kept,
        created_by=actor.name,
        correlation_id=tx.correlation_id,
        created_at=tx.now,
        tenant_id=known.id if known else None,
    )
    if not await store.add(tx, begun):
        raise _busy(begun)
    audit.record(tx, actor, "onboarding.create", begun.id, tenant_id=begun.tenant_id, file=kept)
    events.emit(tx, "onboarding.created", begun.id, tenant_id=begun.tenant_id, name=file.tenant)
    wakeups.notify(tx, MOVED)
    return begun


async def get(tx: Tx, actor: Actor, id: str) -> Onboarding:
    authorize(actor, "onboarding.view", Resource("onboarding", id))
    return await store.get(tx, id)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Onboarding]:
    authorize(actor, "onboarding.view", Resource("onboarding"))
    return await store.page(tx, after, limit)


async def timeline(tx: Tx, actor: Actor, id: str) -> list[Event]:
    """Each step as it went, from the event log."""
    onboarding = await get(tx, actor, id)
    return await events.read(tx, subject=onboarding.id, limit=1000)


async def go_on(tx: Tx, tenant_id: TenantId) -> None:
    """What the tenant's onboarding waits for has an answer."""
    if await store.go_on(tx, tenant_id):
        wakeups.notify(tx, MOVED)


async def refuse_while_open(tx: Tx, name: str) -> None:
    if running := await store.open_for(tx, name):
        raise _busy(running)


def _busy(running: Onboarding) -> Conflict:
    return Conflict(
        f"an onboarding of {running.name} is {running.status}; there can be one at a time",
        code="onboarding_running",
        suggestion="wait until it ends, then ask again",
        extras={"onboarding": running.id},
    )
