"""All nodes of this process: one journal, one simulated world, one event loop."""

import asyncio
import fcntl
import json
import os
import resource
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_agent import agent, database, executor, health, journal, tokens
from penstock_agent.agent import Connected, Place
from penstock_agent.database import Database
from penstock_agent.options import Options
from penstock_agent.profiles import Profile
from penstock_agent.simulated import faults, hardware, world
from penstock_agent.simulated.faults import Fault, Faults, FaultsInvalid
from penstock_agent.simulated.simulated_host import SimulatedHost

FILES_SPARE: Final = 128  # open files beyond one per node

_log: FilteringBoundLogger = structlog.get_logger()


class FolderBusy(Exception):
    """Another agent runs on the same data."""


class TooManyNodes(Exception):
    """The machine does not allow one connection for each node."""


async def run(given: Options, profile: Profile, listed: tuple[Fault, ...]) -> None:
    """Run every node until cancelled, or until one is refused by its site."""
    folder = given.data
    if folder is None:
        raise ValueError("nodes cannot run without a data folder")
    _allow_files(given.nodes + FILES_SPARE)
    with (
        _claimed(folder),
        database.opened(folder / "journal.db", journal.SCHEMA) as kept,
        database.opened(folder / "world.db", world.SCHEMA) as simulated,
    ):
        async with health.listening(given.health_port):
            await journal.forget_old_results(kept, executor.now_us())
            injected = Faults(simulated, listed)
            _reread_on_hangup(injected, given.faults)
            await _live(await _places(given, folder, profile, simulated, injected), kept)


async def _live(places: Sequence[Place], kept: Database) -> None:
    connected = Connected(len(places))
    starting = asyncio.Semaphore(agent.STARTING_MAX)
    try:
        async with asyncio.TaskGroup() as group:
            for place in places:
                group.create_task(agent.live(place, kept, starting, connected))
            await connected.all.wait()
            _log.info("all nodes are connected", nodes=len(places))
            _say_ready(len(places))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _places(
    given: Options, folder: Path, profile: Profile, simulated: Database, injected: Faults
) -> list[Place]:
    seed = await simulated.run(world.seed)
    lines = tokens.read(given.token_file)
    places: list[Place] = []
    for number in range(1, given.nodes + 1):
        name = given.node_name(number)
        home = folder / "nodes" / name
        joined = (home / "membership.json").exists()
        host = SimulatedHost(
            name=name,
            hardware=hardware.build(profile, seed, name, number),
            database=simulated,
            faults=injected,
            delay_s=given.delay_ms / 1000,
        )
        token = None if joined else tokens.of_node(lines, number, name)
        places.append(Place(name, home, host, token))
    return places


def _reread_on_hangup(injected: Faults, path: Path | None) -> None:
    def reread() -> None:
        if path is None:
            return
        try:
            injected.listed = faults.load(path)
        except FaultsInvalid as error:
            _log.error("faults were not read again; the old ones stay", reason=str(error))
        else:
            _log.info("faults read again", count=len(injected.listed))

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reread)


@contextmanager
def _claimed(folder: Path) -> Generator[None]:
    """Two agents on one journal would carry out every task twice."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderBusy(f"another agent runs on {folder}; stop it first") from None
        yield


def _allow_files(needed: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            raise TooManyNodes(f"{needed} open files are needed; ulimit -n allows {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _say_ready(nodes: int) -> None:
    """Tell whoever started this process, if it asked to be told."""
    descriptor = os.environ.pop("PENSTOCK_READY_FD", "")
    if descriptor.isdigit():
        with os.fdopen(int(descriptor), "w") as ready:
            ready.write(json.dumps({"nodes": nodes}) + "\n")
