"""One replica of the storm: claims and frees in batches until it is killed, and says what it was
told. Started by bench/storm.py."""

import argparse
import asyncio
import json
import random
import sys

import uvloop

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask, Placed
from penstock.kernel import db, log
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock_contracts.ids import AllocationId, TenantId

from . import freeing, mix

BATCH_MAX = 256
HELD_MAX = 400  # leases of one replica: together more than there is room for


class Storm:
    def __init__(self, database: Database, actor: Actor, project: str, seed: int) -> None:
        self._database = database
        self._committer = Committer(database)
        self._actor = actor
        self._project = project
        self._rng = random.Random(seed)
        self._held: list[AllocationId] = []

    async def run(self) -> None:
        self._held = await self._inherited()
        while True:
            await self._claim(self._rng.randint(1, BATCH_MAX))
            self._rng.shuffle(self._held)
            keep = self._rng.randint(0, HELD_MAX)
            going, self._held = self._held[keep:], self._held[:keep]
            if going:
                await self._free(going)

    async def _inherited(self) -> list[AllocationId]:
        """What the one before it held, which was killed."""
        rows = await self._database.fetch(
            "SELECT id FROM allocations WHERE created_by = $1 AND freed_at IS NULL",
            self._actor.name,
        )
        return [AllocationId(row["id"]) for row in rows]

    async def _claim(self, count: int) -> None:
        told: dict[str, tuple[str, ...]] = {}
        for outcome in await self._committer.commit([self._ask() for _ in range(count)]):
            if isinstance(outcome, Placed):
                told[outcome.allocation.id] = outcome.allocation.slot_ids
                self._held.append(outcome.allocation.id)
        _say({"claimed": told})

    async def _free(self, ids: list[AllocationId]) -> None:
        async with self._database.transaction() as tx:
            await freeing.free(tx, ids)
        _say({"freed": ids})

    def _ask(self) -> Ask:
        wish = mix.wish(self._rng)
        return Ask(
            actor=self._actor,
            project=self._project,
            sku=wish.sku,
            gpus=wish.gpus,
            site=None,
            correlation_id="storm",
        )


def _say(what: object) -> None:
    """A line is written whole or, by a replica that is killed, not at all: then nobody was told."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    log.configure("storm", "error")
    database = await db.connect(given.url, "central", size=2)
    actor = Actor("key", f"key_storm{given.number}", "member", TenantId(given.tenant))
    try:
        await Storm(database, actor, given.project, given.seed).run()
    except asyncio.CancelledError:
        await database.close()


if __name__ == "__main__":
    uvloop.run(main())
