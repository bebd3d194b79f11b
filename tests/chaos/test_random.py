"""Processes killed at random moments, from a seed, while leases come and go."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

import pytest

from penstock_client import errors

from . import checks
from .platform import Platform

KILLS: Final = 6
PAUSE_S_MAX: Final = 0.8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_leases_survive_kills_at_random_moments(platform: Platform, seed: int) -> None:
    chance = random.Random(seed)
    over = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        living = threads.submit(live_until, over, platform, random.Random(seed))
        for _ in range(KILLS):
            wait([living], timeout=chance.uniform(0, PAUSE_S_MAX))
            kill_one(platform, chance)
        over.set()
        ids = living.result()
    for id in ids:
        checks.assert_released(platform, id)


def live_until(over: threading.Event, platform: Platform, chance: random.Random) -> list[str]:
    """Lease after lease, until it is over; at least one."""
    ids: list[str] = []
    while not ids or not over.is_set():
        ids.append(live(platform, chance.choice([1, 2, 4, 8])))
    return ids


def kill_one(platform: Platform, chance: random.Random) -> None:
    match chance.choice(["central", "site", "agent", "agent", "postgres"]):
        case "central":
            platform.kill_central()
            platform.start_central()
        case "site":
            platform.site.restart()
        case "agent":
            platform.agent.restart()
        case _:
            platform.postgres.kill()
            platform.postgres.start()


def live(platform: Platform, gpus: int) -> str:
    """One lease from beginning to end; a whole node now and then."""
    while True:
        try:
            id = platform.lease_whole_node() if gpus == 8 else platform.lease(gpus)
            break
        except errors.Refused as refusal:
            if refusal.code != "sku_unavailable":
                raise
            # Its only node is away just now.
            platform.until_central("SELECT 1 FROM nodes WHERE connected")
    platform.until_active(id)
    platform.release(id)
    platform.until_freed(id)
    return id
