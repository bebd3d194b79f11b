"""The batch commit: one lock, one fleet, one transaction for everyone who waits.

Taking the fleet's lock is being the leader. Under it: bring the fleet up to date, check
quota, plan, insert allocations and claims in bulk, write the desired documents, commit,
answer. A unique violation means that the fleet was stale after all: forget it and plan
again. The commit is idempotent (ids are made before it), so after a lost connection it
is simply run again.
"""

from collections.abc import Sequence
from typing import Final

import asyncpg

from penstock.central import fleet
from penstock.central.allocations import orders
from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.placement import answers, backlog, line, wants
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.central.placement.snapshot import Snapshot
from penstock.central.placement.wants import Want
from penstock.central.slots import service as slots
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Conflict, Problem, Unavailable
from penstock.placement.model import Fleet, Plan, Taken
from penstock_contracts.failpoints import Failpoint

ATTEMPTS_MAX: Final = 3
BEFORE: Final = Failpoint("central.placement.before_commit")
AFTER: Final = Failpoint("central.placement.after_commit")


class Committer:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._snapshot = Snapshot()

    async def commit(self, asks: Sequence[Ask]) -> list[Outcome]:
        for _ in range(ATTEMPTS_MAX):
            try:
                outcomes = await self._database.run(lambda tx: self._place(tx, asks))
            except asyncpg.UniqueViolationError:
                continue
            AFTER.hit()
            self._snapshot.settle()
            return outcomes
        unavailable = Unavailable("the fleet changes too quickly; try again")
        if not asks:
            raise unavailable  # nobody asked, so nobody would read the answer
        return [unavailable] * len(asks)

    async def _place(self, tx: Tx, asks: Sequence[Ask]) -> list[Outcome]:
        await fleet.lock(tx)
        same = answers.twins(asks)
        outcomes = await answers.given_before(tx, [ask for ask in asks if ask.id not in same])
        new = [ask for ask in asks if ask.id not in outcomes and ask.id not in same]
        if new or not asks:
            current = await self._snapshot.borrow(tx)
            await _write(tx, await self._plan(tx, new, current, outcomes))
            await answers.remember(tx, new, outcomes)
            BEFORE.hit()
        return [outcomes[same.get(ask.id, ask.id)] for ask in asks]

    async def _plan(
        self, tx: Tx, asks: list[Ask], current: Fleet, outcomes: dict[str, Outcome]
    ) -> list[tuple[Want, Allocation, Plan]]:
        """Those who ask and those who wait, together; the answers of those who asked."""
        resolved = await wants.resolve(tx, asks)
        wanted = [want for want in resolved.values() if isinstance(want, Want)]
        waited = await line.load(tx)
        quota = await Quota.load(tx, [*wanted, *waited])
        decided = await backlog.decide(tx, current, quota, wanted, waited)
        outcomes.update({id: want for id, want in resolved.items() if isinstance(want, Problem)})
        outcomes.update(decided.refused)
        for _, allocation, _ in decided.placed:
            outcomes[allocation.id] = Placed(allocation, tx.now)
        for allocation in decided.queued:
            outcomes[allocation.id] = Queued(allocation, tx.now)
        return decided.placed


class Quota:
    """How many GPUs each tenant of the batch holds, and may hold."""

    def __init__(self, held: dict[str, int], limits: dict[str, int | None]) -> None:
        self._held = held
        self._limits = limits

    @classmethod
    async def load(cls, tx: Tx, wanted: list[Want]) -> "Quota":
        ids = sorted({want.project.tenant_id for want in wanted})
        limits = {id: (await tenants.get(tx, SYSTEM, id)).gpu_limit for id in ids}
        held = await allocations.gpus_held(tx, ids)
        return cls({**held}, {**limits})

    @property
    def held(self) -> dict[str, int]:
        return dict(self._held)

    def never(self, want: Want) -> bool:
        limit = self._limits[want.project.tenant_id]
        return limit is not None and want.request.gpus > limit

    def refuse(self, want: Want) -> Problem | None:
        limit = self._limits[want.project.tenant_id]
        held = self._held.get(want.project.tenant_id, 0)
        if limit is None or held + want.request.gpus <= limit:
            return None
        return Conflict(
            f"the tenant holds {held} of its {limit} GPUs; {want.request.gpus} more do not fit",
            code="quota_exceeded",
            suggestion="release a lease, or ask for a higher limit",
            extras={"limit": limit, "used": held},
        )

    def take(self, want: Want) -> None:
        id = want.project.tenant_id
        self._held[id] = self._held.get(id, 0) + want.request.gpus


async def _write(tx: Tx, planned: list[tuple[Want, Allocation, Plan]]) -> None:
    if not planned:
        return
    rows: list[tuple[Allocation, tuple[Taken, ...], dict[str, object]]] = [
        (allocation, plan.taken, answers.receipt(want, plan)) for want, allocation, plan in planned
    ]
    await allocations.add(tx, rows)
    nodes = sorted({allocation.where[1] for _, allocation, _ in planned})
    held = await slots.by_node(tx, nodes)
    for want, allocation, _ in planned:
        tx.correlation_id = allocation.correlation_id
        site, node = allocation.where
        mine = [slot for slot in held[node] if slot.allocation_id == allocation.id]
        orders.send(tx, allocation, mine)
        audit.record(
            tx, want.ask.actor, "allocation.place" if want.waited else "allocation.create",
            allocation.id, tenant_id=allocation.tenant_id, sku=want.sku.name,
            gpus=allocation.gpus, node=node,
        )  # fmt: skip
        events.emit(
            tx, "allocation.placed", allocation.id, tenant_id=allocation.tenant_id,
            project=allocation.project_id, sku=want.sku.name, gpus=allocation.gpus,
            node=node, site=site,
        )  # fmt: skip
    for node in nodes:
        fleet.touch(tx, node)
