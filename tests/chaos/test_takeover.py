"""Two executors of one site: when one hangs or dies, the other takes its work over."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest

from penstock.local import ports
from penstock.local.keeper import Child

from . import checks, forwarder, watching
from .forwarder import Forwarder
from .platform import Platform
from .program import Program

TAKEOVER_S_MAX: Final = 60.0
UNDER_WAY: Final = "SELECT 1 FROM tasks WHERE allocation_id = %s AND id LIKE %s AND result IS NULL"


@dataclass(frozen=True)
class Pair:
    """A site with two executors, and the door that its node dials."""

    platform: Platform
    door: Forwarder
    programs: dict[str, Program]
    link_ports: dict[str, int]

    def owner(self, workflow: str) -> str:
        """The executor that runs a workflow."""
        (id,) = self.platform.until_site(
            "SELECT executor_id FROM dbos.workflow_status WHERE workflow_uuid LIKE %s"
            " AND status = 'PENDING' AND executor_id LIKE 'site-%%'",
            f"{workflow}%",
        )
        return str(id)

    def other(self, id: str) -> str:
        return next(one for one in self.programs if one != id)

    def lead_to(self, id: str) -> None:
        self.door.point_to(self.link_ports[id])


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    ours = {"site-1": ports.pick(), "site-2": ports.pick()}
    with forwarder.listening(ours["site-1"]) as door:
        platform = Platform(
            {
                "PENSTOCK_SITE_EXECUTOR": "site-1",
                "PENSTOCK_SITE_EXECUTOR_SILENCE_S": "3",
                "PENSTOCK_SITE_LINK_LISTEN": ports.address(ours["site-1"]),
                "PENSTOCK_SITE_LINK_ADVERTISE": door.address,
            }
        )
        try:
            platform.start()
            second = platform.program(second_executor(platform, ours["site-2"]))
            second.start()
            yield Pair(platform, door, {"site-1": platform.site, "site-2": second}, ours)
        finally:
            platform.stop()


def second_executor(platform: Platform, link_port: int) -> Child:
    usual = platform.site.child
    environment = {
        **usual.environment,
        "PENSTOCK_SITE_EXECUTOR": "site-2",
        "PENSTOCK_SITE_LINK_LISTEN": ports.address(link_port),
        "PENSTOCK_SITE_JOIN_LISTEN": ports.address(ports.pick()),
        "PENSTOCK_SITE_JOIN_ADVERTISE": usual.environment["PENSTOCK_SITE_JOIN_LISTEN"],
        "PENSTOCK_SITE_METRICS_LISTEN": ports.address(ports.pick()),
    }
    return replace(usual, name="second-site", environment=environment)


def test_a_frozen_executors_lease_is_taken_over_and_ends_once(pair: Pair) -> None:
    platform = pair.platform
    platform.restart_agent(delay_ms=1000)
    id = platform.lease()
    platform.until_site(UNDER_WAY, id, "provision:%")
    frozen = pair.owner(f"realize:{id}")
    pair.programs[frozen].freeze()
    began = time.monotonic()
    pair.lead_to(pair.other(frozen))
    platform.until_active(id)
    assert time.monotonic() - began < TAKEOVER_S_MAX

    pair.programs[frozen].thaw()  # it goes on where it was, and finds that it is done
    platform.release(id)
    platform.until_freed(id)
    platform.until_site("SELECT 1 FROM executors WHERE id = %s", frozen)
    assert pair.programs[frozen].running
    checks.assert_released(platform, id)
    assert_done_once(platform, id)


def test_a_dead_executors_release_is_taken_over(pair: Pair) -> None:
    platform = pair.platform
    platform.restart_agent(delay_ms=1000)
    id = platform.lease()
    platform.until_active(id)
    platform.release(id)
    platform.until_site(UNDER_WAY, id, "release:%")
    dead = pair.owner(f"release:{id}")
    pair.programs[dead].kill()
    began = time.monotonic()
    pair.lead_to(pair.other(dead))
    platform.until_freed(id)
    assert time.monotonic() - began < TAKEOVER_S_MAX
    checks.assert_released(platform, id)
    assert_done_once(platform, id)
    pair.programs[dead].start()


def assert_done_once(platform: Platform, id: str) -> None:
    """One outcome of each workflow, one task for each thing that was asked of the node."""
    outcomes = watching.rows(
        platform.site_url,
        "SELECT split_part(workflow_uuid, ':', 1), status FROM dbos.workflow_status"
        " WHERE workflow_uuid LIKE %s ORDER BY 1",
        f"%:{id}:%",
    )
    assert outcomes == [("realize", "SUCCESS"), ("release", "SUCCESS")]
    tasks = watching.rows(platform.site_url, "SELECT id FROM tasks WHERE allocation_id = %s", id)
    assert sorted(str(task).partition(":")[0] for (task,) in tasks) == ["provision", "release"]
