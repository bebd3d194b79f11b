"""Ensures that one child process runs, from when it is asked for until it is told to stop.

A child is *ready* when it has written a line of JSON to the descriptor that
PENSTOCK_READY_FD names. One that ends is started again, sooner if it had run well; one that
does not answer any more is ended first.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from penstock.local.health import Health
from penstock.local.logfile import LogFile
from penstock.local.pipes import Pipe
from penstock.local.tether import tether

DELAY_S_MIN: Final = 0.2
DELAY_S_MAX: Final = 5.0
RAN_WELL_S: Final = 10.0
FIRST_ATTEMPTS: Final = 5
MISUSED: Final = 2  # the exit code of a program that cannot work as it was called
TAIL_LINES: Final = 15


class ChildFailed(Exception):
    """A child did not become ready; the message has its last words."""


@dataclass(frozen=True)
class Child:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    grace_s: float = 10.0
    health: Health | None = None


class Keeper:
    def __init__(
        self,
        child: Child,
        log: Path,
        wrote: Callable[[str], None],
        told: Callable[[str], None],
    ) -> None:
        self._child = child
        self._log_path = log
        self._log = LogFile(log)
        self._wrote = wrote
        self._told = told
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._ready = asyncio.get_running_loop().create_future()
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False
        self._said_ready = False  # in this life, as the next
        self._silent = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> dict[str, object]:
        self._task = asyncio.create_task(self._keep(), name=f"keep-{self._child.name}")
        return cast("dict[str, object]", await asyncio.shield(self._ready))

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it in time."""
        self._stopping = True
        if self._task is None:
            return
        if self._process is None:
            self._task.cancel()
        else:
            self._signal(signal.SIGTERM)
        _, late = await asyncio.wait({self._task}, timeout=self._child.grace_s)
        if late:
            self._told(f"did not end within {self._child.grace_s:.0f} s of SIGTERM; killed")
            self.kill()
            await asyncio.wait({self._task})
        self._log.close()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        delay_s, attempts = DELAY_S_MIN, 0
        while True:
            started, attempts = loop.time(), attempts + 1
            try:
                code = await self._run_once()
            except OSError as error:
                self._give_up(f"{self._child.name} cannot be started: {error}")
                return
            if self._stopping:
                return
            if not self._ready.done() and (code == MISUSED or attempts == FIRST_ATTEMPTS):
                self._give_up(self._last_words(code))
                return
            if loop.time() - started > RAN_WELL_S and not self._silent:
                delay_s = DELAY_S_MIN
            self._told(f"ended ({_ending(code)}); starts again in {delay_s:.1f} s")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, DELAY_S_MAX)

    def _give_up(self, why: str) -> None:
        if self._ready.done():
            self._told(why)
        else:
            self._ready.set_exception(ChildFailed(why))

    async def _run_once(self) -> int:
        """One life of the child: its exit code, negative for a signal."""
        self._tail.clear()
        self._said_ready = self._silent = False
        output, ready = await Pipe.open(), await Pipe.open()
        try:
            self._process = await self._spawn(output, ready)
        finally:
            output.close_writer()
            ready.close_writer()
        if self._stopping:  # told to stop while it was being started
            self.kill()
        copying = asyncio.create_task(self._copy(output))
        listening = asyncio.create_task(self._listen(ready))
        watching = asyncio.create_task(self._watch())
        try:
            code = await self._process.wait()
            # Whatever it started itself may hold the pipe open; what it wrote is in it already.
            await asyncio.wait({copying, listening}, timeout=1.0)
        finally:
            self._process = None
            for task in (copying, listening, watching):
                task.cancel()
            output.close()
            ready.close()
        return code

    async def _spawn(self, output: Pipe, ready: Pipe) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._child.command,
            env={
                **os.environ,
                "PYTHONUNBUFFERED": "1",
                **self._child.environment,
                "PENSTOCK_READY_FD": str(ready.writer),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output.writer,
            stderr=output.writer,
            pass_fds=(ready.writer,),
            start_new_session=True,  # Ctrl-C is for us, who stop the children in order
            preexec_fn=tether(signal.SIGKILL),
        )

    async def _watch(self) -> None:
        """Ensures that a child which does not answer any more is ended."""
        if self._child.health is None:
            return
        await self._child.health.until_silent(lambda: self._said_ready)
        if self._stopping:
            return
        self._silent = True
        self._told("does not answer any more; it is ended")
        self._signal(signal.SIGTERM)
        await asyncio.sleep(self._child.grace_s)
        self.kill()

    async def _copy(self, output: Pipe) -> None:
        async for line in output.lines(self._log.write):
            self._tail.append(line)
            self._wrote(line)

    async def _listen(self, ready: Pipe) -> None:
        async for line in ready.lines():
            self._said_ready = True
            if not self._ready.done():
                self._ready.set_result(_said(line))
            elif not self._stopping:
                self._told("is ready again")

    def _last_words(self, code: int) -> str:
        words = "\n".join(f"  {line}" for line in self._tail)
        return (
            f"{self._child.name} did not start ({_ending(code)}):\n{words}\n"
            f"its whole log is {self._log_path}"
        )


def _said(line: str) -> dict[str, object]:
    try:
        said: object = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, object]", said) if isinstance(said, dict) else {}


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
