"""P2 and P3: leases over HTTP, by a client in a process of its own, with a real key."""

import asyncio
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.kernel import db
from penstock_contracts.ids import AllocationId

from . import freeing
from .central import Central
from .stage import Fleet

BENCH = Path(__file__).parent.parent


@dataclass(frozen=True)
class Loaded:
    per_s: float
    took_s: list[float]
    placed: int
    refused: int
    failed: int


def load(
    central: Central,
    fleet: Fleet,
    *,
    count: int,
    seed: int,
    connections: int = 32,
    per_s: float = 0,
) -> Loaded:
    """Ask for so many leases; afterwards, make room again."""
    with tempfile.TemporaryFile("w+") as told:
        command = [sys.executable, "-m", "claiming.load", "--port", str(central.port)]
        command += ["--project", fleet.project, "--count", str(count), "--seed", str(seed)]
        command += ["--connections", str(connections), "--per-s", str(per_s)]
        subprocess.run(command, cwd=BENCH, stdout=told, check=True, input=central.token, text=True)
        told.seek(0)
        said = json.load(told)
    asyncio.run(_free(fleet, [AllocationId(id) for id in said["ids"]]))
    return Loaded(
        said["placed"] / said["elapsed_s"], said["took_s"], said["placed"], said["refused"],
        said["failed"],
    )  # fmt: skip


async def _free(fleet: Fleet, ids: list[AllocationId]) -> None:
    database = await db.connect(fleet.url, "central", size=1)
    try:
        async with database.transaction() as tx:
            await freeing.free(tx, ids)
    finally:
        await database.close()
