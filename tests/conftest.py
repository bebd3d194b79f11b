"""Real Postgres for every test: one server per worker, a fresh database per test."""

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio._backends._asyncio import TestRunner
from hypothesis import settings

from penstock.kernel import migrations
from penstock.local import ports, postgres
from penstock.local.postgres import EmbeddedPostgres

# Tests start processes from one that speaks gRPC; its hooks may hang a child before it begins.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

_failed_in_the_loop = TestRunner._exception_handler  # pyright: ignore[reportPrivateUsage]


def _unless_it_is_another_loops(
    self: TestRunner, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """gRPC has one poller for all event loops of a process: what comes late for a test's loop,
    which is closed, fails in the next test's. It says nothing about that test."""
    closed = isinstance(context.get("exception"), RuntimeError)
    if not (closed and "PollerCompletionQueue" in str(context.get("message"))):
        _failed_in_the_loop(self, loop, context)


TestRunner._exception_handler = _unless_it_is_another_loops  # pyright: ignore[reportPrivateUsage]

settings.register_profile("untimed", deadline=None)  # no test asserts a time
settings.load_profile("untimed")

# Each worker has ports of its own: between picking one and listening on it, none is taken away.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
_PORTS = len(ports.CHOICE) // 8
setattr(ports, "CHOICE", ports.CHOICE[_WORKER * _PORTS : (_WORKER + 1) * _PORTS])  # noqa: B010 it is Final
PLANES = ("central", "site")
_numbers = itertools.count(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted (`record_property("counted", …)`), in whichever worker they ran."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "call":
            for name, said in report.user_properties:
                if name == "counted":
                    terminalreporter.write_line(str(said))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """A Postgres server in memory. It may be stopped and killed only by tests that own one."""
    shared_memory = Path("/dev/shm")
    within = shared_memory if shared_memory.is_dir() else None
    with postgres.temporary({"fsync": "off", "max_connections": "300"}, within=within) as started:
        yield started


@pytest.fixture(scope="session")
def templates(server: EmbeddedPostgres) -> dict[str, str]:
    """A migrated database for each plane, to be copied."""
    names = {plane: f"template_{plane}" for plane in PLANES}
    for plane, name in names.items():
        server.create_database(name)
        asyncio.run(migrations.migrate(server.url(name), plane))
    return names


@pytest.fixture
def new_database(
    server: EmbeddedPostgres, templates: dict[str, str]
) -> Iterator[Callable[[str], str]]:
    """Makes a fresh, migrated database for a plane; gives the URL with which the plane serves."""
    made: list[str] = []

    def make(plane: str) -> str:
        name = f"{plane}_{next(_numbers)}"
        server.create_database(name, template=templates[plane])
        made.append(name)
        return server.serving_url(plane, name)

    yield make
    for name in made:
        server.drop_database(name)


@pytest.fixture
def central_url(new_database: Callable[[str], str]) -> str:
    return new_database("central")


@pytest.fixture
def site_url(new_database: Callable[[str], str]) -> str:
    return new_database("site")
