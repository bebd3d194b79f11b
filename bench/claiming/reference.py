"""The references: a claim as plain SQL, without anything that a product needs around it."""

import asyncio
import re
import subprocess
import tempfile
import time
from pathlib import Path

import asyncpg

from penstock.local import programs
from penstock.local.postgres import EmbeddedPostgres

SLOTS = 80_000
CLAIM = """
\\set slot random(1, {slots})
BEGIN;
UPDATE reference_slots SET fence = fence + 1, holder = :client_id WHERE id = :slot;
INSERT INTO reference_claims (slot_id, holder) VALUES (:slot, :client_id);
COMMIT;
"""


def prepare(server: EmbeddedPostgres, name: str) -> str:
    server.create_database(name)
    url = server.url(name)
    asyncio.run(_tables(url))
    return url


async def _tables(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            f"""
            CREATE TABLE reference_slots (id integer PRIMARY KEY, fence bigint, holder integer);
            INSERT INTO reference_slots SELECT n, 0, 0 FROM generate_series(1, {SLOTS}) AS n;
            CREATE TABLE reference_claims (slot_id integer, holder integer);
            """
        )
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def pgbench(url: str, *, seconds: int, clients: int = 32) -> float:
    """Claims per second: one UPDATE and one INSERT a transaction."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "claim.sql"
        script.write_text(CLAIM.format(slots=SLOTS))
        Path(folder).chmod(0o755)
        program = programs.find(None, None).path("pgbench")
        run = subprocess.run(
            [program, "-n", "-M", "prepared", "-c", str(clients), "-j", "2",
             "-T", str(seconds), "-f", str(script), url],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    found = re.search(r"tps = ([0-9.]+)", run.stdout)
    if found is None:
        raise RuntimeError(f"pgbench said nothing of its rate: {run.stdout[-300:]}")
    return float(found.group(1))


async def bare_claims_s(url: str, count: int) -> list[float]:
    """How long one claim takes through asyncpg, one client, one after the other."""
    connection = await asyncpg.connect(url)
    took: list[float] = []
    try:
        for n in range(count):
            started = time.perf_counter()
            async with connection.transaction():
                slot = n % SLOTS + 1
                await connection.execute(
                    "UPDATE reference_slots SET fence = fence + 1, holder = 1 WHERE id = $1", slot
                )
                await connection.execute("INSERT INTO reference_claims VALUES ($1, 1)", slot)
            took.append(time.perf_counter() - started)
    finally:
        await connection.close()
    return took
