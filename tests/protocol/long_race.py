"""R01 for longer: racing clients on two replicas that are killed at random moments.

Eight clients lease and release 64 slots over HTTP. Whatever they were told is compared
with itself and with the database: `problems` must be 0, and so must `unknown`.

    bench/race.py --seconds 600 --json
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from penstock.kernel import log, migrations
from penstock.local import postgres
from protocol import race
from protocol.race import Result


def run(seconds: float, seed: int) -> Result:
    shared_memory = Path("/dev/shm")
    within = shared_memory if shared_memory.is_dir() else None
    with (
        postgres.temporary(within=within) as server,
        tempfile.TemporaryDirectory(prefix="penstock-race-") as folder,
    ):
        asyncio.run(migrations.migrate(server.url("central"), "central"))
        url = server.serving_url("central")
        return asyncio.run(race.run(url, Path(folder), seconds=seconds, seed=seed))


def figures(result: Result, seed: int) -> dict[str, float]:
    operations = len(result.history.operations)
    placed = len(result.history.placed)
    return {
        "seed": seed,
        "seconds": round(result.seconds, 1),
        "operations": operations,
        "placed": placed,
        "refused": sum(bool(operation.refused) for operation in result.history.operations),
        "unknown": sum(operation.unknown for operation in result.history.operations),
        "broken": result.broken,
        "kills": result.kills,
        "claims": len(result.claims),
        "operations_per_s": round(operations / result.seconds, 1),
        "p50_ms": round(result.latencies_ms[len(result.latencies_ms) // 2], 1),
        "p99_ms": round(result.latencies_ms[int(len(result.latencies_ms) * 0.99)], 1),
        "problems": len(result.problems),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print only the last line")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    log.configure("race", "warning")
    result = run(options.seconds, options.seed)
    told = figures(result, options.seed)
    for problem in result.problems[:20]:
        print(problem, file=sys.stderr)
    if not options.json:
        for name, value in told.items():
            print(f"{name:20} {value}")
    print(json.dumps(told))
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
