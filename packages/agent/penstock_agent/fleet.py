"""All nodes of this process: one journal, one driver, one event loop."""

import asyncio
import fcntl
import json
import os
import resource
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_agent import agent, database, health, journal, tokens
from penstock_agent.agent import Connected, Place
from penstock_agent.database import Database
from penstock_agent.options import Options
from penstock_agent.tasks import doer
from penstock_contracts.drivers.chosen import Chosen
from penstock_contracts.drivers.host import Hosts

FILES_SPARE: Final = 128  # open files beyond one per node

_log: FilteringBoundLogger = structlog.get_logger()


class FolderBusy(Exception):
    """Another agent runs on the same data."""


class TooManyNodes(Exception):
    """The machine does not allow one connection for each node."""


async def run(given: Options, driver: Chosen[Hosts]) -> None:
    """Run every node until cancelled, or until one is refused by its site."""
    folder = given.data
    if folder is None:
        raise ValueError("nodes cannot run without a data folder")
    _allow_files(given.nodes + FILES_SPARE)
    with _claimed(folder), database.opened(folder / "journal.db", journal.SCHEMA) as kept:
        async with health.listening(given.health_port), driver.driver.open(driver.config) as hosts:
            await journal.forget_old_results(kept, doer.now_us())
            await _live(await _places(given, folder, hosts), kept)


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


async def _places(given: Options, folder: Path, hosts: Hosts) -> list[Place]:
    lines = tokens.read(given.token_file)
    places: list[Place] = []
    for number in range(1, given.nodes + 1):
        name = given.node_name(number)
        home = folder / "nodes" / name
        joined = (home / "membership.json").exists()
        host = await hosts.host(name, number)
        token = None if joined else tokens.of_node(lines, number, name)
        places.append(Place(name, home, host, token))
    return places


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
