"""A line of leases that wait: one replica, a fleet, and what tests ask of them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.central.allocations import release, service, store
from penstock.central.allocations.model import Allocation
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.kernel import invariants
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Database

from .fleet_stage import Stage


@dataclass
class Clock:
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


class Line:
    """One replica on a stage, and what tests ask of both."""

    def __init__(self, stage: Stage, committer: Committer) -> None:
        self.stage = stage
        self.committer = committer

    async def ask(self, *asks: Ask) -> list[Outcome]:
        return await self.committer.commit(asks)

    async def queue(self, gpus: int = 1, sku: str = "slice", **changes: object) -> Allocation:
        (outcome,) = await self.ask(self.stage.ask(gpus, sku, queue=True, **changes))
        assert isinstance(outcome, Queued), outcome
        return outcome.allocation

    async def hold(self, gpus: int, sku: str = "slice", **changes: object) -> Allocation:
        (outcome,) = await self.ask(self.stage.ask(gpus, sku, **changes))
        assert isinstance(outcome, Placed), outcome
        return outcome.allocation

    async def round(self) -> None:
        await self.committer.commit([])

    async def get(self, id: str) -> Allocation:
        async with self.stage.database.transaction() as tx:
            return await store.get(tx, id)

    async def statuses(self, *leases: Allocation) -> list[str]:
        return [(await self.get(lease.id)).status for lease in leases]

    async def facts(self, id: str) -> list[str]:
        async with self.stage.database.transaction() as tx:
            return [event.type for event in await service.timeline(tx, SYSTEM, id)]

    async def cancel(self, id: str) -> Allocation:
        async with self.stage.database.transaction() as tx:
            return await release.release(tx, SYSTEM, id)


async def violations(database: Database) -> dict[str, int]:
    async with database.transaction() as tx:
        return {i.name: i.violations for i in await invariants.check(tx) if i.violations}
