"""The batch commit: one lock, one fleet, one transaction for everyone who waits.

Taking the fleet's lock is being the leader. Under it: bring the fleet up to date, check
quotas and balances, plan, insert allocations and claims in bulk, write the desired
documents, commit, answer. A unique violation means that the fleet was stale after all:
read again what was unsure and plan again. The commit is idempotent (ids are made before
it), so after a lost connection it is simply run again.
"""

import itertools
from collections.abc import Sequence
from typing import Final, cast

import asyncpg

from penstock.central import fleet
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed
from penstock.central.placement import answers, wants
from penstock.central.placement.answers import Decided, Unplaced
from penstock.central.placement.gates import Gates
from penstock.central.placement.queue import Ask, Outcome, Placed
from penstock.central.placement.snapshot import Snapshot
from penstock.central.placement.wants import Want
from penstock.central.placement.writing import Placement, Writer
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Problem, Unavailable
from penstock.placement import solver
from penstock.placement.model import Fleet, Plan
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import NodeId, SiteId, SlotId

ATTEMPTS_MAX: Final = 3
TOGETHER: Final = 32  # placements that one statement writes
BEFORE: Final = Failpoint("central.placement.before_commit")
AFTER: Final = Failpoint("central.placement.after_commit")


class Committer:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._snapshot = Snapshot()

    async def commit(self, asks: Sequence[Ask]) -> list[Outcome]:
        tries = itertools.count()
        for _ in range(ATTEMPTS_MAX):
            try:
                outcomes = await self._database.run(
                    lambda tx: self._place(tx, asks, again=next(tries) > 0)
                )
            except asyncpg.UniqueViolationError:
                continue
            AFTER.hit()
            current = self._snapshot.settle()
            return answers.explained(outcomes, current)
        return [Unavailable("the fleet changes too quickly; try again")] * len(asks)

    async def _place(self, tx: Tx, asks: Sequence[Ask], *, again: bool) -> list[Decided]:
        await fleet.lock(tx)
        current = await self._snapshot.borrow(tx)
        same = answers.twins(asks)
        fresh = [ask for ask in asks if ask.id not in same]
        outcomes: dict[str, Decided] = {**await answers.given_before(tx, fresh, again=again)}
        new = [ask for ask in asks if ask.id not in outcomes and ask.id not in same]
        if new:
            await self._decide(tx, new, current, outcomes)
            await answers.remember(tx, new, outcomes)
            BEFORE.hit()
        return [outcomes[same.get(ask.id, ask.id)] for ask in asks]

    async def _decide(
        self, tx: Tx, asks: list[Ask], current: Fleet, outcomes: dict[str, Decided]
    ) -> None:
        """Plan a few, and plan the next while the database writes these."""
        wanted: list[Want] = []
        for id, want in (await wants.resolve(tx, asks)).items():
            if isinstance(want, Problem):
                outcomes[id] = want
            else:
                wanted.append(want)
        gates = await Gates.load(tx, wanted)
        async with Writer(tx) as writer:
            for start in range(0, len(wanted), TOGETHER):
                placed: list[Placement] = []
                for want in wanted[start : start + TOGETHER]:
                    outcome = self._plan(tx, want, current, gates)
                    if isinstance(outcome, Placement):
                        placed.append(outcome)
                        outcomes[want.ask.id] = Placed(outcome.allocation, tx.now)
                    else:
                        outcomes[want.ask.id] = outcome
                await writer.put(placed)

    def _plan(
        self, tx: Tx, want: Want, current: Fleet, gates: Gates
    ) -> Placement | Unplaced | Problem:
        refusal = gates.refuse(want)
        if refusal is not None:
            return refusal
        plan = solver.solve(want.request, current)
        if not isinstance(plan, Plan):
            return Unplaced(want, plan)
        receipt = answers.receipt(
            want.request, plan, policy_revision=want.policy_revision, revision=current.revision
        )
        current.take(plan)
        gates.take(want)
        revision = self._snapshot.take(plan.node_ids)
        return Placement(want, _allocation(tx, want, plan), plan, revision, receipt)


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
        slot_ids=tuple([cast("SlotId", taken.slot_id) for taken in plan.taken]),
        blocked_reason="",
    )
