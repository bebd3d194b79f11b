"""A fleet with leases on it, and what it costs to merely read them."""

import random
import time

import asyncpg

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import BATCH_MAX, Ask, Placed
from penstock.kernel import db

from . import stage
from .stage import Fleet


async def lease(fleet: Fleet, count: int) -> int:
    """So many leases of one GPU and more, through the committer; fewer if the fleet is full."""
    database = await db.connect(fleet.url, "central", size=2)
    committer, rng, placed = Committer(database), random.Random(3), 0
    try:
        while placed < count:
            asks = [
                Ask(
                    fleet.actor, fleet.project, stage.SLICE, rng.choice((1, 1, 1, 2)), None, "bench"
                )
                for _ in range(BATCH_MAX)
            ]
            made = sum(isinstance(one, Placed) for one in await committer.commit(asks))
            placed += made
            if made < BATCH_MAX:
                return placed
        return placed
    finally:
        await database.close()


async def raw_select_s(fleet: Fleet) -> float:
    """Every node, slot and live claim, fetched as rows and dropped."""
    connection = await asyncpg.connect(fleet.url, server_settings={"role": ROLE})
    try:
        started = time.perf_counter()
        for sql in ("SELECT * FROM nodes", "SELECT * FROM slots", LIVE):
            await connection.fetch(sql)
        return time.perf_counter() - started
    finally:
        await connection.close()


ROLE = "penstock_central_system"
LIVE = "SELECT * FROM claims WHERE freed_at IS NULL"
