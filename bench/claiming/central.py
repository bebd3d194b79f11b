"""A real central process over a database, with a real key for a tenant."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.central.access import keys
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock.local import ports

from .stage import Fleet

LISTENERS = ("HTTP", "JOIN", "LINK", "METRICS")


@dataclass(frozen=True)
class Central:
    port: int
    token: str
    ready_s: float
    pid: int


@contextmanager
def running(fleet: Fleet, **settings: object) -> Generator[Central, None, None]:
    """Central on its own, as an operator starts it, with these settings."""
    token = asyncio.run(make_key(fleet))
    taken: list[int] = []
    for _ in LISTENERS:
        taken.append(ports.pick(taken))
    listen = dict(zip(LISTENERS, map(ports.address, taken), strict=True))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        (Path(folder) / "admin").write_text(f"pk_{secrets.token_urlsafe(32)}")
        reader, writer = os.pipe()
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock.central"],
            env={
                **os.environ,
                "PENSTOCK_CENTRAL_DATABASE_URL": fleet.url,
                "PENSTOCK_CENTRAL_DATA": folder,
                "PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE": f"{folder}/admin",
                "PENSTOCK_CENTRAL_LOG_LEVEL": "warning",
                **{f"PENSTOCK_CENTRAL_{n}_LISTEN": address for n, address in listen.items()},
                **{f"PENSTOCK_CENTRAL_{n}": str(value) for n, value in settings.items()},
                "PENSTOCK_READY_FD": str(writer),
            },
            pass_fds=[writer],
        )
        os.close(writer)
        try:
            with os.fdopen(reader) as ready:
                json.loads(ready.readline())
            port = int(listen["HTTP"].rpartition(":")[2])
            yield Central(port, token, time.monotonic() - started, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)


async def make_key(fleet: Fleet) -> str:
    database = await db.connect(fleet.url, "central", size=1)
    try:
        async with database.transaction() as tx:
            made = await keys.create(
                tx, SYSTEM, tenant_id=fleet.tenant_id, name="bench", role="member"
            )
            return made.token
    finally:
        await database.close()
