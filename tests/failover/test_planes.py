"""Both planes as real processes, behind an address that fails as those of a failover do."""

import json
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final

import httpx2
import pytest
from chaos.platform import Platform
from chaos.program import Program

from penstock.local import folder

from .servers import Pair

SOON_S: Final = 90.0  # a bound for a slow machine
END_S_MAX: Final = 60.0
FORCED: Final = "ended while something was still under way"


class Planes(Platform):
    """Central and a site with its node, whose databases are behind the proxy."""

    def __init__(self, pair: Pair) -> None:
        super().__init__(
            site_environment={
                "PENSTOCK_SITE_DATABASE_URL": pair.url("site"),
                "PENSTOCK_SITE_OWNER_URL": pair.proxy.url("site"),
            },
            central_environment={
                "PENSTOCK_CENTRAL_DATABASE_URL": pair.url("central"),
                "PENSTOCK_CENTRAL_OWNER_URL": pair.proxy.url("central"),
            },
        )
        self.postgres = pair.primary

    def stop(self) -> None:
        for program in (self.agent, self.site, self.central):
            program.end()
        shutil.rmtree(self.data, ignore_errors=True)  # the servers are not ours

    @property
    def programs(self) -> tuple[Program, Program]:
        return self.central, self.site

    def ready(self, program: Program) -> int:
        name = program.child.name
        address = program.child.environment[f"PENSTOCK_{name.upper()}_METRICS_LISTEN"]
        return httpx2.get(f"http://{address}/readyz", timeout=60, trust_env=False).status_code

    def until_ready(self, status: HTTPStatus) -> None:
        for program in self.programs:
            until(lambda program=program: self.ready(program) == status)

    def ask(self) -> httpx2.Response:
        """A call that needs the database, and is not tried again."""
        headers = {"Authorization": f"Bearer {folder.admin_token(self.data)}"}
        address = self.central.child.environment["PENSTOCK_CENTRAL_HTTP_LISTEN"]
        url = f"http://{address}/v1/tenants"
        return httpx2.get(url, headers=headers, timeout=60, trust_env=False)

    def works(self) -> None:
        """A whole lease goes through both planes."""
        id = self.lease()
        self.until_active(id)
        self.release(id)
        self.until_freed(id)


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)  # nothing tells


def lines(program: Program, after: int = 0) -> list[dict[str, Any]]:
    """Every line is JSON, whoever wrote it."""
    return [json.loads(line) for line in written(program)[after:].splitlines()]


def written(program: Program) -> bytes:
    return program.log.read_bytes()


@pytest.fixture(scope="module")
def started(kept: Pair) -> Iterator[Planes]:
    planes = Planes(kept)
    planes.start()
    yield planes
    planes.stop()


@pytest.fixture
def planes(started: Planes, pair: Pair) -> Planes:
    """Ready, whatever the test before did."""
    assert pair is not None
    for program in started.programs:
        if not program.running:
            program.start()
    started.until_ready(HTTPStatus.OK)
    started.settle()
    return started


def test_a_standby_in_place_of_the_primary_ends_no_plane(planes: Planes, pair: Pair) -> None:
    held = planes.lease()
    planes.until_active(held)
    before = [len(written(program)) for program in planes.programs]
    pair.lead_to_standby()
    planes.until_ready(HTTPStatus.SERVICE_UNAVAILABLE)
    enough = pair.proxy.dialled + 50  # everything that dials has dialled more than once
    until(lambda: pair.proxy.dialled > enough)
    for _ in range(100):
        assert planes.ask().status_code == HTTPStatus.SERVICE_UNAVAILABLE
    for program in planes.programs:
        assert program.running, program.last_words()
    pair.lead_to_primary()
    planes.until_ready(HTTPStatus.OK)
    assert planes.ask().status_code == HTTPStatus.OK
    planes.release(held)
    planes.until_freed(held)
    planes.works()
    for program, size in zip(planes.programs, before, strict=True):
        assert_told_once(lines(program, size))


def assert_told_once(told: list[dict[str, Any]]) -> None:
    """The outage is a few lines, however much failed, and none of them a traceback."""
    assert not [line for line in told if "Traceback" in line.get("exception", "")]
    assert [line for line in told if "standby" in line.get("error", "")]
    assert [line for line in told if line["event"] == "database back"]
    often = {event: n for event, n in Counter(line["event"] for line in told).items() if n > 5}
    assert not often, "the same is told again and again"


def test_a_network_that_swallows_is_noticed_and_all_goes_on(planes: Planes, pair: Pair) -> None:
    held = planes.lease()
    planes.until_active(held)
    pair.proxy.swallow()
    planes.until_ready(HTTPStatus.SERVICE_UNAVAILABLE)
    assert planes.ask().status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert planes.ask().json()["code"] == "unavailable"
    pair.proxy.pass_on()
    planes.until_ready(HTTPStatus.OK)
    planes.release(held)
    planes.until_freed(held)
    planes.works()
    for program in planes.programs:
        assert program.running, program.last_words()


@pytest.mark.parametrize("outage", ["a standby", "swallowed"])
def test_a_plane_stops_in_order_during_an_outage(planes: Planes, pair: Pair, outage: str) -> None:
    planes.lease()  # so that the workflow engine has something to do
    before = [len(written(program)) for program in planes.programs]
    pair.lead_to_standby() if outage == "a standby" else pair.proxy.swallow()
    planes.until_ready(HTTPStatus.SERVICE_UNAVAILABLE)
    for program, size in zip(planes.programs, before, strict=True):
        program.process.send_signal(signal.SIGTERM)
        try:
            code = program.process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{program.child.name} did not stop:\n{program.last_words()}")
        assert code == 0, program.last_words()
        assert FORCED not in {line["event"] for line in lines(program, size)}
