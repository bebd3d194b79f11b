"""Ensures that every hosted realm is at its provider what it shall be.

A hosted realm lives elsewhere; what it shall be is in its row (`desired`), what it is known to
be beside it (`actual`). A guest is someone whose invitation the provider does not know of yet.
One round reads one row, calls its provider once, outside any transaction, and writes down what
came of it, unless something else is desired by then. Every verb can be called again, so whoever
dies in between, the next one calls it again. One process of central does this at a time.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from penstock.central.realms.hosts import service, store
from penstock.central.realms.hosts.model import HostedRealm, Verb
from penstock.kernel import audit, events, log, loops
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database, Tx
from penstock.kernel.loops import Alone, Idle, Loop
from penstock.kernel.wakeups import Wakeups
from penstock_contracts.drivers import faults
from penstock_contracts.drivers.faults import DriverBug, DriverFault
from penstock_contracts.drivers.realm import Hosted, RealmProvider, Wanted
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import TenantId

logger = log.get(__name__)
LOCK: Final = 0x48524C4D  # "HRLM"
CALLED: Final = Failpoint("central.realms.hosts.called")  # the provider; not yet written down
Settled = Callable[[Tx, TenantId], Awaitable[None]]


@dataclass(frozen=True)
class Hosting:
    """What it takes: the providers, and whom to tell when one has answered."""

    database: Database
    told: Wakeups
    providers: Mapping[str, RealmProvider]
    public_url: str
    settled: Settled

    def loops(self, url: str) -> tuple[Loop, ...]:
        """None without providers."""
        loop = Loop(
            "hosted realms",
            "Has each realm's provider make of it what it shall be.",
            loops.reconcile(self.advance, self.told, (service.MOVED,)),
            Alone(url, LOCK),
        )
        return (loop,) if self.providers else ()

    async def advance(self) -> Idle:
        """One call; how long nothing can be done after it (None: until told)."""
        names = sorted(self.providers)
        realm = await self.database.run(lambda tx: store.next_of(tx, names))
        verb = realm.verb if realm else None
        if realm is None or verb is None:
            return await self.database.run(lambda tx: _pause(tx, names))
        fault: DriverFault | None = None
        hosted: Hosted | None = None
        try:
            with faults.only_faults(f"realm.{realm.provider}"):
                hosted = await self._call(realm, verb)
        except DriverFault as raised:
            fault = raised
            bug = raised.__cause__ if isinstance(raised, DriverBug) else None
            logger.warning(
                "realm provider", realm=realm.name, verb=verb, fault=str(raised), exc_info=bug
            )
        CALLED.hit()
        await self.database.run(lambda tx: self._apply(tx, realm, verb, hosted, fault))
        return loops.MORE

    async def _call(self, realm: HostedRealm, verb: Verb) -> Hosted | None:
        provider = self.providers[realm.provider]
        wanted = wanted_of(realm, self.public_url)
        match verb:
            case Verb.ENSURE:
                return await provider.ensure(wanted)
            case Verb.SUSPEND:
                await provider.suspend(wanted)
            case Verb.RESUME:
                await provider.resume(wanted)
            case Verb.REMOVE:
                await provider.remove(wanted)
            case Verb.INVITE:
                if realm.guest is not None:
                    await provider.invite(wanted, realm.guest.email)
        return None

    async def _apply(
        self,
        tx: Tx,
        seen: HostedRealm,
        verb: Verb,
        hosted: Hosted | None,
        fault: DriverFault | None,
    ) -> None:
        await self.settled(tx, seen.tenant_id)  # first: an onboarding's row is locked before ours
        now = await store.find(tx, seen.tenant_id, lock=True)
        if now is None or now.revision != seen.revision:
            return  # something else is desired: it is asked for from what is known
        if fault is not None:
            await store.save(tx, _failed(now, verb, fault, tx.now))
            return
        await store.save(tx, now.did(verb, hosted))
        if verb is Verb.INVITE and seen.guest is not None:
            await store.carried(tx, seen.tenant_id, seen.guest)
        _tell(tx, replace(seen, hosted=hosted or seen.hosted), verb)


def wanted_of(realm: HostedRealm, public_url: str) -> Wanted:
    portal = f"{public_url}/portal/callback"
    return Wanted(realm.tenant_id, realm.name, audience=public_url, portal=portal)


def _failed(realm: HostedRealm, verb: Verb, fault: DriverFault, now: datetime) -> HostedRealm:
    """What is final is not tried again, but for an invitation: one who cannot be invited must not
    keep others from anything for ever."""
    least_s = faults.retry_after(fault)
    final = least_s is None and verb is not Verb.INVITE
    return realm.failed(str(fault), now, timedelta(seconds=least_s or 0.0), refused=final)


def _tell(tx: Tx, realm: HostedRealm, verb: Verb) -> None:
    id, provider = realm.tenant_id, realm.provider
    issuer = realm.hosted.issuer if realm.hosted else None
    email = realm.guest.email if verb is Verb.INVITE and realm.guest else None
    audit.record(
        tx, SYSTEM, f"realm.host_{verb}", id, tenant_id=id, provider=provider, issuer=issuer,
        email=email,
    )  # fmt: skip
    events.emit(tx, HAPPENED[verb], id, tenant_id=id, provider=provider, issuer=issuer, email=email)


HAPPENED: Final = {
    Verb.ENSURE: "realm.hosted",
    Verb.SUSPEND: "realm.host_suspended",
    Verb.RESUME: "realm.host_resumed",
    Verb.REMOVE: "realm.host_removed",
    Verb.INVITE: "realm.guest_invited",
}


async def _pause(tx: Tx, providers: list[str]) -> Idle:
    at = await store.retry_at(tx, providers)
    return loops.UNTIL_TOLD if at is None else max(0.001, (at - tx.now).total_seconds())
