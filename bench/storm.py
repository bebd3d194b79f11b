"""R01 at length: replicas that claim and free in batches and are killed at random moments.

Each is a process with a fleet of its own over one database. More is asked for than there is room,
so they contend for every slot; all that they were told is compared with the database afterwards.

    bench/storm.py --operations 1000000 --json
"""

import argparse
import asyncio
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
from claiming import stage
from claiming.stage import Fleet

REPLICAS = 2
NODES = 300
KILL_EVERY_S = 3.0

# Each lease has a fence of its own, that of its line of the log; and each hold of a slot begins
# after the one before it ended.
BROKEN = {
    "slots held twice": """
        SELECT slot_id FROM claims WHERE freed_at IS NULL GROUP BY slot_id HAVING count(*) > 1""",
    "fences that are not the log's": """
        SELECT slot_id FROM claims c FULL JOIN (SELECT revision, allocation_id AS lease, slot
            FROM fleet_changes, unnest(slot_ids) AS slot WHERE kind = 'claim') AS line
            ON line.revision = c.fence AND line.slot = c.slot_id AND line.lease = c.allocation_id
        WHERE c.slot_id IS NULL OR line.slot IS NULL""",
    "lines of the log that are missing": """
        SELECT max(revision) FROM fleet_changes HAVING max(revision) <> count(*)""",
    "holds that overlap": """
        SELECT slot_id FROM (SELECT slot_id, claimed_at, lag(freed_at, 1, '-infinity') OVER
            (PARTITION BY slot_id ORDER BY fence) AS before FROM claims) AS hold
        WHERE before IS NULL OR before > claimed_at""",
    "leases on two nodes": """
        SELECT allocation_id FROM claims GROUP BY 1 HAVING count(DISTINCT node_id) > 1""",
    "leases of the wrong size": "SELECT * FROM invariant_claims_of_wrong_size",
    "slices beside whole nodes": "SELECT * FROM invariant_slice_beside_baremetal",
}
HELD = """
    SELECT allocation_id, array_agg(slot_id) AS slots, bool_and(freed_at IS NOT NULL) AS freed
    FROM claims GROUP BY allocation_id
"""


@dataclass
class Told:
    """What the replicas said that they did."""

    claimed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    freed: set[str] = field(default_factory=set[str])
    operations: int = 0
    kills: int = 0

    def hear(self, line: str) -> None:
        said = json.loads(line)
        for id, slots in said.get("claimed", {}).items():
            self.claimed[id] = set(slots)
            self.operations += len(slots)
        for id in said.get("freed", ()):
            self.freed.add(id)
            self.operations += len(self.claimed.get(id, ()))  # it may never have been told of it


class Replica:
    def __init__(self, fleet: Fleet, number: int, seed: int) -> None:
        command = [sys.executable, "-m", "claiming.storming", "--url", fleet.url]
        command += ["--tenant", fleet.tenant_id, "--project", fleet.project, "--seed", str(seed)]
        command += ["--number", str(number)]
        self.process = subprocess.Popen(
            command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=False
        )
        self._rest = b""

    @property
    def output(self) -> int:
        if self.process.stdout is None:
            raise RuntimeError("a replica without output")
        return self.process.stdout.fileno()

    def lines(self) -> Iterator[str]:
        """What it said since; a line that it could not finish was never said."""
        said = os.read(self.output, 1 << 20)
        if not said:
            raise RuntimeError("a replica ended by itself: it was refused what it held")
        *whole, self._rest = (self._rest + said).split(b"\n")
        return (line.decode() for line in whole)

    def kill(self, told: Told) -> None:
        self.process.send_signal(signal.SIGKILL)
        while chunk := os.read(self.output, 1 << 20):
            self._rest += chunk
        for line in self._rest.split(b"\n")[:-1]:
            told.hear(line.decode())
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def rage(fleet: Fleet, operations: int, rng: random.Random) -> Told:
    told = Told()
    replicas = [Replica(fleet, number, rng.randrange(1 << 30)) for number in range(REPLICAS)]
    kill_at = time.monotonic() + KILL_EVERY_S
    while told.operations < operations:
        with selectors.DefaultSelector() as waiting:
            for replica in replicas:
                waiting.register(replica.output, selectors.EVENT_READ, replica)
            for key, _ in waiting.select(max(0.0, kill_at - time.monotonic())):
                for line in key.data.lines():
                    told.hear(line)
        if time.monotonic() >= kill_at:
            victim = rng.randrange(REPLICAS)
            replicas[victim].kill(told)
            told.kills += 1
            replicas[victim] = Replica(fleet, victim, rng.randrange(1 << 30))
            kill_at = time.monotonic() + rng.uniform(0.2, 2 * KILL_EVERY_S)
    for replica in replicas:
        replica.kill(told)
    return told


async def problems(url: str, told: Told) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        found = [
            f"{name}: {len(rows)}"
            for name, sql in BROKEN.items()
            if (rows := await connection.fetch(sql))
        ]
        held = {row["allocation_id"]: row for row in await connection.fetch(HELD)}
    finally:
        await connection.close()
    for id, slots in told.claimed.items():
        if id not in held or set(held[id]["slots"]) != slots:
            found.append(f"{id} was told that it holds what it does not")
        elif id in told.freed and not held[id]["freed"]:
            found.append(f"{id} was told that it is freed, and is not")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print only the last line")
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    with stage.server() as server:
        fleet = stage.build(server, "fleet", NODES)
        started = time.monotonic()
        told = rage(fleet, given.operations, random.Random(given.seed))
        seconds = time.monotonic() - started
        wrong = asyncio.run(problems(server.url("fleet", role="postgres"), told))
    for problem in wrong[:20]:
        print(problem, file=sys.stderr)
    figures = {
        "seed": given.seed,
        "seconds": round(seconds, 1),
        "operations": told.operations,
        "operations_per_s": round(told.operations / seconds),
        "leases": len(told.claimed),
        "kills": told.kills,
        "problems": len(wrong),
    }
    if not given.json:
        for name, value in figures.items():
            print(f"{name:20} {value}")
    print(json.dumps(figures))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
