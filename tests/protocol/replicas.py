"""Real central processes on one database, that a test may kill and start again."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock.local import ports
from penstock.local.pipes import Pipe
from penstock.local.tether import tether

START_S_MAX: Final = 45.0
LISTENERS: Final = ("HTTP", "JOIN", "LINK", "METRICS")


class NotReady(Exception):
    """The replica did not become ready; the text has its last words."""


@dataclass
class Replica:
    """One process. Its address stays the same when it is started again."""

    name: str
    url: str
    folder: Path
    address: str = ""
    process: asyncio.subprocess.Process | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        taken: list[int] = []
        for listener in LISTENERS:
            taken.append(ports.pick(taken))
            self.environment[f"PENSTOCK_CENTRAL_{listener}_LISTEN"] = ports.address(taken[-1])
        self.address = f"http://{self.environment['PENSTOCK_CENTRAL_HTTP_LISTEN']}"
        self.environment |= {
            "PENSTOCK_CENTRAL_DATABASE_URL": self.url,
            "PENSTOCK_CENTRAL_DATA": str(self.folder),
            "PENSTOCK_CENTRAL_REPLICA": self.name,
            "PENSTOCK_CENTRAL_LOG_LEVEL": "warning",
        }

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    async def start(self) -> None:
        """Return when it says that it is ready."""
        pipe = await Pipe.open()
        try:
            with self.log.open("ab") as log:
                self.process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "penstock.central",
                    env={**os.environ, **self.environment, "PENSTOCK_READY_FD": str(pipe.writer)},
                    pass_fds=(pipe.writer,),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=tether(signal.SIGKILL),
                )
            pipe.close_writer()
            await self._ready(pipe)
        finally:
            pipe.close()

    async def _ready(self, pipe: Pipe) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S_MAX):
                async for _ in pipe.lines():
                    return
        raise NotReady(f"{self.name} is not ready:\n{self.last_words()}")

    async def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


@asynccontextmanager
async def running(url: str, folder: Path, count: int = 2) -> AsyncGenerator[list[Replica], None]:
    """So many replicas of one central in a folder that is there; gone when the block ends."""
    replicas = [Replica(f"central-{number}", url, folder) for number in range(1, count + 1)]
    try:
        await replicas[0].start()  # alone: it makes the root that the others read
        await asyncio.gather(*(replica.start() for replica in replicas[1:]))
        yield replicas
    finally:
        for replica in replicas:
            await replica.kill()
