"""The batch commit: one lock, one fleet, one transaction for everyone who waits.

Taking the fleet's lock is being the leader. Under it: bring the fleet up to date, check
quotas and balances, plan, insert allocations and claims in bulk, write the desired
documents, commit, answer. A unique violation means that the fleet was stale after all:
forget it and plan again. The commit is idempotent (ids are made before it), so after a
lost connection it is simply run again.
"""

from collections.abc import Sequence
from typing import Final

import asyncpg

from penstock.central import fleet
from penstock.central.allocations import orders
from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed
from penstock.central.placement import answers, wants
from penstock.central.placement.gates import Gates
from penstock.central.placement.queue import Ask, Outcome, Placed
from penstock.central.placement.snapshot import Snapshot
from penstock.central.placement.wants import Want
from penstock.central.slots import service as slots
from penstock.kernel import audit, events
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Problem, Unavailable
from penstock.placement import solver
from penstock.placement.model import Fleet, Plan, Taken
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import NodeId, SiteId, SlotId

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
        return [Unavailable("the fleet changes too quickly; try again")] * len(asks)

    async def _place(self, tx: Tx, asks: Sequence[Ask]) -> list[Outcome]:
        await fleet.lock(tx)
        same = answers.twins(asks)
        outcomes = await answers.given_before(tx, [ask for ask in asks if ask.id not in same])
        new = [ask for ask in asks if ask.id not in outcomes and ask.id not in same]
        if new:
            current = await self._snapshot.borrow(tx)
            planned = await self._plan(tx, new, current, outcomes)
            await _write(tx, planned)
            for want, allocation, _ in planned:
                outcomes[want.ask.id] = Placed(allocation, tx.now)
            await answers.remember(tx, new, outcomes)
            BEFORE.hit()
        return [outcomes[same.get(ask.id, ask.id)] for ask in asks]

    async def _plan(
        self, tx: Tx, asks: list[Ask], current: Fleet, outcomes: dict[str, Outcome]
    ) -> list[tuple[Want, Allocation, Plan]]:
        resolved = await wants.resolve(tx, asks)
        gates = await Gates.load(tx, [w for w in resolved.values() if isinstance(w, Want)])
        planned: list[tuple[Want, Allocation, Plan]] = []
        for id, want in resolved.items():
            if isinstance(want, Problem):
                outcomes[id] = want
                continue
            refusal = gates.refuse(want)
            if refusal is not None:
                outcomes[id] = refusal
                continue
            plan = solver.solve(want.request, current)
            if isinstance(plan, Plan):
                current.take(plan)
                gates.take(want)
                planned.append((want, _allocation(tx, want, plan), plan))
            else:
                outcomes[id] = answers.unavailable(want, plan, current)
        return planned


def _allocation(tx: Tx, want: Want, plan: Plan) -> Allocation:
    return Allocation(
        id=want.ask.id,
        tenant_id=want.project.tenant_id,
        project_id=want.project.id,
        sku_id=want.sku.id,
        sku_name=want.sku.name,
        shape=want.sku.shape,
        family=want.sku.family,
        gpus=want.request.gpus,
        price_micros_per_gpu_hour=want.sku.price_micros_per_gpu_hour,
        currency=want.sku.currency,
        site_id=SiteId(plan.site_id),
        node_id=NodeId(plan.node_id),
        desired=Desired.ACTIVE,
        desired_at=tx.now,
        revision=1,
        observed=Observed.NOTHING,
        observed_at=None,
        observed_reason="",
        execution=Execution(),
        created_at=tx.now,
        created_by=want.ask.actor.name,
        correlation_id=want.ask.correlation_id,
        failed_reason="",
        freed_at=None,
        slot_ids=tuple(SlotId(taken.slot_id) for taken in plan.taken),
        blocked_reason="",
    )


async def _write(tx: Tx, planned: list[tuple[Want, Allocation, Plan]]) -> None:
    if not planned:
        return
    rows: list[tuple[Allocation, tuple[Taken, ...], dict[str, object]]] = [
        (allocation, plan.taken, answers.receipt(want, plan)) for want, allocation, plan in planned
    ]
    await allocations.add(tx, rows)
    nodes = sorted({allocation.node_id for _, allocation, _ in planned})
    held = await slots.by_node(tx, nodes)
    for want, allocation, _ in planned:
        tx.correlation_id = allocation.correlation_id
        mine = [slot for slot in held[allocation.node_id] if slot.allocation_id == allocation.id]
        orders.send(tx, allocation, mine)
        audit.record(
            tx, want.ask.actor, "allocation.create", allocation.id,
            tenant_id=allocation.tenant_id, sku=want.sku.name, gpus=allocation.gpus,
            node=allocation.node_id,
        )  # fmt: skip
        events.emit(
            tx, "allocation.placed", allocation.id, tenant_id=allocation.tenant_id,
            project=allocation.project_id, sku=want.sku.name, gpus=allocation.gpus,
            node=allocation.node_id, site=allocation.site_id,
        )  # fmt: skip
    for node in nodes:
        fleet.touch(tx, node)
