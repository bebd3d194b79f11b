"""P1: durable claims in process. The whole batch commit: identity is given, all else is real
(policy, quota, balance, plan, claims, receipts, orders, audit, events)."""

import random
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import uvloop

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import BATCH_MAX, Ask, Placed
from penstock.kernel import db
from penstock.kernel.db import Database
from penstock_contracts.ids import AllocationId

from . import freeing, mix, stage
from .stage import Fleet

T = TypeVar("T")


class Claiming:
    """One replica that claims and frees; its fleet stays about half full."""

    def __init__(self, fleet: Fleet, seed: int = 1) -> None:
        self._fleet = fleet
        self._rng = random.Random(seed)
        self._runner = uvloop.new_event_loop()
        self._database: Database = self._run(db.connect(fleet.url, "central", size=4))
        self._committer = Committer(self._database)
        self._held: list[tuple[AllocationId, int]] = []
        self.claims = 0
        self.refused = 0
        self.freed = 0
        self.freeing_s = 0.0

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run_until_complete(work)

    def first_claim_s(self) -> float:
        """From nothing known of the fleet to a claim that is on disk."""
        started = time.perf_counter()
        self._run(self._claim([self._ask()]))
        return time.perf_counter() - started

    def claims_per_s(self, seconds: float) -> float:
        """Slots claimed per second of claiming; between batches as many are freed, untimed. What
        was freed is read in claiming time: a replica that always has somebody waiting does not
        follow the log between batches."""
        claimed = claiming_s = 0.0
        while claiming_s < seconds:
            asks = [self._ask() for _ in range(BATCH_MAX)]
            started = time.perf_counter()
            claimed += self._run(self._claim(asks))
            claiming_s += time.perf_counter() - started
            started = time.perf_counter()
            self._run(self._free(len(self._held) - 2 * BATCH_MAX))
            self.freeing_s += time.perf_counter() - started
        return claimed / claiming_s

    async def _claim(self, asks: Sequence[Ask]) -> int:
        slots = 0
        for outcome in await self._committer.commit(asks):
            if isinstance(outcome, Placed):
                held = outcome.allocation
                self._held.append((held.id, len(held.slot_ids)))
                slots += len(held.slot_ids)
            else:
                self.refused += 1
        self.claims += slots
        return slots

    def _ask(self) -> Ask:
        wish = mix.wish(self._rng)
        return Ask(
            actor=self._fleet.actor,
            project=self._fleet.project,
            sku=wish.sku,
            gpus=wish.gpus,
            site=None,
            correlation_id="bench",
        )

    async def _free(self, count: int) -> None:
        if count <= 0:
            return
        self._rng.shuffle(self._held)
        going, self._held = self._held[:count], self._held[count:]
        async with self._database.transaction() as tx:
            await freeing.free(tx, [id for id, _ in going])
        self.freed += sum(slots for _, slots in going)

    def double_booked(self) -> int:
        return self._run(stage.double_booked(self._database))

    def close(self) -> None:
        self._run(self._database.close())
        self._runner.close()
