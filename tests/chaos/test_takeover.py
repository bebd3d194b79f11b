"""Two executors of one site: when one hangs or dies, the other takes its work over."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2
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

    def until_one_is_frozen(self) -> str:
        """The executor that stopped; the kernel tells."""
        stopped = os.waitid(os.P_ALL, 0, os.WSTOPPED)
        assert stopped is not None
        return next(id for id, one in self.programs.items() if one.process.pid == stopped.si_pid)

    def until_done_by_another(self, workflow: str, lease: str, frozen: str) -> None:
        self.platform.until_site(
            "SELECT 1 FROM dbos.workflow_status WHERE workflow_uuid LIKE %s"
            " AND status = 'SUCCESS' AND executor_id <> %s",
            f"lease:{lease}:%:{workflow}:%",
            frozen,
        )

    def assert_lives(self, id: str) -> None:
        """It beats again, after whatever happened to it."""
        self.platform.until_site("SELECT 1 FROM executors WHERE id = %s", id)
        assert self.programs[id].running

    def holder_of_uplink(self) -> str:
        (session,) = self.platform.until_site(
            "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND application_name LIKE %s",
            "penstock uplink %",
        )
        return str(session).rpartition(" ")[2]

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
                "PENSTOCK_SITE_EXECUTOR_SILENCE_S": "2",
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


@pytest.mark.parametrize(
    "point",
    [
        "site.realize.provision.do.before",
        "site.realize.announce.do.after",  # done, but nobody knows it
        "site.release.clean.do.before",
        "site.release.clean.do.after",
    ],
)
def test_what_a_frozen_executor_did_is_taken_over_and_ends_once(pair: Pair, point: str) -> None:
    platform = pair.platform
    platform.disarm_all()
    platform.settle()
    platform.arm(point, "stop")
    id = platform.lease()
    if ".release." in point:
        platform.until_active(id)
        platform.release(id)
    frozen = pair.until_one_is_frozen()
    assert platform.hit(point)
    began = time.monotonic()
    pair.lead_to(pair.other(frozen))
    pair.until_done_by_another(point.split(".")[1], id, frozen)
    assert time.monotonic() - began < TAKEOVER_S_MAX
    pair.programs[frozen].thaw()  # it goes on where it was, and finds that it is done
    if ".realize." in point:
        platform.until_active(id)
        platform.release(id)
    platform.until_freed(id)
    pair.assert_lives(frozen)
    checks.assert_released(platform, id)
    assert_done_once(platform, id)


def test_an_executor_that_wakes_up_beside_its_heir_does_no_harm(pair: Pair) -> None:
    """Both wait for the same task of the node, and both go on when it is answered."""
    platform = pair.platform
    platform.disarm_all()
    platform.restart_agent(delay_ms=1500)
    platform.arm("site.realize.provision.do.before", "stop")
    id = platform.lease()
    frozen = pair.until_one_is_frozen()
    pair.lead_to(pair.other(frozen))
    platform.until_site(UNDER_WAY, id, "provision:%")  # its heir has asked the node
    pair.programs[frozen].thaw()
    platform.until_active(id)
    platform.release(id)
    platform.until_freed(id)
    pair.assert_lives(frozen)
    checks.assert_released(platform, id)
    assert_done_once(platform, id)
    platform.restart_agent()


def test_a_frozen_executors_uplink_is_taken_over(pair: Pair) -> None:
    """Orders come and reports go through the other one, while the first still hangs."""
    platform = pair.platform
    frozen = pair.holder_of_uplink()
    pair.programs[frozen].freeze()
    pair.lead_to(pair.other(frozen))
    began = time.monotonic()
    id = platform.lease()
    platform.until_active(id)
    assert time.monotonic() - began < TAKEOVER_S_MAX
    assert pair.holder_of_uplink() == pair.other(frozen)
    pair.programs[frozen].thaw()
    platform.release(id)
    platform.until_freed(id)
    pair.assert_lives(frozen)
    checks.assert_released(platform, id)
    assert_done_once(platform, id)


def test_each_executor_shows_its_loops_and_the_one_without_the_uplink_waits_for_it(
    pair: Pair,
) -> None:
    deadline = time.monotonic() + TAKEOVER_S_MAX
    while True:
        shown = {id: loops(one) for id, one in pair.programs.items()}
        uplinks = {id: each["uplink"]["outcome"] for id, each in shown.items()}
        if sorted(uplinks.values()) == ["ok", "waiting"] or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    dials = pair.holder_of_uplink()
    assert uplinks == {dials: "ok", pair.other(dials): "waiting"}
    for id, each in shown.items():
        assert each.keys() == {
            "wakeups", "certificate", "uplink", "executors", "documents", "retention",
        }  # fmt: skip
        assert {(loop["plane"], loop["replica"]) for loop in each.values()} == {("site", id)}
        assert each["executors"]["runs"] > 0


def loops(program: Program) -> dict[str, Any]:
    """As its metrics listener shows them, by name."""
    address = program.child.environment["PENSTOCK_SITE_METRICS_LISTEN"]
    answer = httpx2.get(f"http://{address}/loops", trust_env=False)
    return {loop["name"]: loop for loop in answer.json()["items"]}


def test_a_dead_executors_release_is_taken_over(pair: Pair) -> None:
    platform = pair.platform
    platform.restart_agent(delay_ms=1000)
    id = platform.lease()
    platform.until_active(id)
    platform.release(id)
    platform.until_site(UNDER_WAY, id, "release:%")
    dead = pair.owner(f"lease:{id}:%:release:")
    pair.programs[dead].kill()
    began = time.monotonic()
    pair.lead_to(pair.other(dead))
    platform.until_freed(id)
    assert time.monotonic() - began < TAKEOVER_S_MAX
    checks.assert_released(platform, id)
    assert_done_once(platform, id)
    pair.programs[dead].start()
    platform.restart_agent()


def assert_done_once(platform: Platform, id: str) -> None:
    """One outcome of each workflow, one task for each thing that was asked of the node."""
    outcomes = watching.rows(
        platform.site_url,
        "SELECT split_part(workflow_uuid, ':', 4), status FROM dbos.workflow_status"
        " WHERE workflow_uuid LIKE %s ORDER BY 1",
        f"%:{id}:%",
    )
    assert outcomes == [("realize", "SUCCESS"), ("release", "SUCCESS")]
    tasks = watching.rows(platform.site_url, "SELECT id FROM tasks WHERE allocation_id = %s", id)
    assert sorted(str(task).partition(":")[0] for (task,) in tasks) == ["provision", "release"]
