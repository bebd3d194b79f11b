"""From `penstock up` to Ctrl-C."""

import asyncio
import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Final

from penstock.local import children, demo, folder, live
from penstock.local.account import AccountMissing
from penstock.local.cluster import VersionMismatch
from penstock.local.errors import Refused
from penstock.local.home import DataMissing, FolderTaken
from penstock.local.keeper import ChildFailed
from penstock.local.options import Options
from penstock.local.ports import PortsExhausted
from penstock.local.programs import PostgresFailed, ProgramsUnusable
from penstock.local.screen import Screen
from penstock.local.stack import Running, Stack
from penstock_client import errors as client_errors

STOPPED: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
FOUND_BY_ITSELF: Final = Path(".penstock")  # where the CLI looks for ready.json
MISUSES: Final = (Refused, ProgramsUnusable, VersionMismatch, AccountMissing, FolderTaken)
FAILURES: Final = (
    ChildFailed,
    PostgresFailed,
    PortsExhausted,
    DataMissing,
    OSError,
    client_errors.ClientError,
)


async def run(options: Options, screen: Screen) -> int:
    """Serve until told to stop; the exit code."""
    data = options.data.resolve()
    try:
        lock = folder.take(data)
    except Refused as error:
        screen.complain(f"penstock up: {error}")
        return MISUSED
    try:
        folder.remove_ready(data)
        return await _serve_and_stop(options, screen)
    finally:
        folder.remove_ready(data)
        os.close(lock)


async def _serve_and_stop(options: Options, screen: Screen) -> int:
    stack = Stack(options, screen)
    serving = asyncio.create_task(_serve(stack, options, screen))
    asked = _stop_on_signals(stack)
    await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
    if not asked.done():
        await stack.stop()
        return _explain(serving, screen)
    serving.cancel()
    await asyncio.wait({serving})
    folder.remove_ready(options.data)
    screen.line("Stopping …")
    await stack.stop()
    screen.line("Stopped. `penstock up` goes on from here.")
    return STOPPED


async def _serve(stack: Stack, options: Options, screen: Screen) -> None:
    started = time.monotonic()
    running = await stack.start()
    folder.write_ready(options.data.resolve(), _facts(running))
    screen.line(f"Ready after {time.monotonic() - started:.1f} s.\n")
    _say_where_to_go(running, options.data.resolve(), screen)
    view = live.LiveView(running)
    async with asyncio.TaskGroup() as group:
        group.create_task(view.follow())
        if options.demo:
            group.create_task(demo.show(running, screen))
        with screen.live(view):
            await asyncio.Event().wait()


def _say_where_to_go(running: Running, data: Path, screen: Screen) -> None:
    program = "penstock" if shutil.which("penstock") else os.path.relpath(sys.argv[0])
    lease = f"{program} allocation create --sku {running.profile.slice_sku} --gpus 1 --watch"
    screen.line(f"  API     {running.api}   (its documentation: {running.api}/docs)")
    screen.line(f"  token   in {data / 'ready.json'}")
    if data != FOUND_BY_ITSELF.resolve():  # elsewhere, the CLI has to be told
        token = shlex.quote(str(children.admin_token_file(data)))
        screen.line(f"  CLI     export PENSTOCK_API={running.api} PENSTOCK_TOKEN=$(cat {token})")
        lease += f" --project {running.platform.project}"
    screen.line(f"  lease   {lease}")
    screen.line(f"  logs    {data / 'logs'}")
    screen.line("  stop    Ctrl-C\n")


def _facts(running: Running) -> dict[str, object]:
    return {
        "api": running.api,
        "admin_token": running.admin_token,
        "tenant": running.platform.tenant,
        "project": running.platform.project,
        "site": running.platform.site,
        "sku": running.profile.slice_sku,
        "docs": f"{running.api}/docs",
        "portal": None,
        "pid": os.getpid(),
    }


def _stop_on_signals(stack: Stack) -> "asyncio.Future[None]":
    """Done at the first signal; the second ends what still runs at once."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        if asked.done():
            stack.hurry()
        else:
            asked.set_result(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return asked


def _explain(serving: "asyncio.Task[None]", screen: Screen) -> int:
    error = serving.exception()
    if isinstance(error, MISUSES):
        screen.complain(f"penstock up: {error}")
        return MISUSED
    if isinstance(error, FAILURES):
        screen.complain(f"penstock up: {error}")
        return FAILED
    raise error or RuntimeError("serving ended by itself")
