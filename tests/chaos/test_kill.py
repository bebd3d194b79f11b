"""Every process killed at every declared place: the lease ends as if nothing had happened."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from . import checks, places
from .platform import Platform

IN_BOTH: Final = (
    "agent.",
    "site.document.",
    "site.result.",
    "central.report.",
)  # on the way to a lease, and on the way back
BOTH_WAYS: Final = [point for point in places.DECLARED if point.startswith(IN_BOTH)]
FORWARD: Final = [point for point in places.DECLARED if ".undo." not in point]
UNDO: Final = [point for point in places.DECLARED if ".undo." in point]


def test_every_declared_place_is_killed_at_here() -> None:
    """The cases below arm each place, and fail if it is not hit."""
    assert set(FORWARD) | set(UNDO) == set(places.DECLARED)
    assert len(places.DECLARED) >= 16
    assert {point.partition(".")[0] for point in places.DECLARED} == {"central", "site", "agent"}


@pytest.mark.parametrize("point", FORWARD)
def test_a_lease_survives_a_kill_at(platform: Platform, point: str) -> None:
    def live() -> str:
        id = platform.lease()
        platform.until_active(id)
        platform.release(id)
        platform.until_freed(id)
        return id

    platform.arm(point, "kill")
    with ThreadPoolExecutor(1) as threads:
        lived = threads.submit(live)
        resurrect(platform, point)
        checks.assert_released(platform, lived.result())


@pytest.mark.parametrize("point", BOTH_WAYS)
def test_a_release_survives_a_kill_at(platform: Platform, point: str) -> None:
    id = platform.lease()
    platform.until_active(id)
    platform.arm(point, "kill")
    with ThreadPoolExecutor(1) as threads:  # central may die before it answers
        released = threads.submit(platform.release, id)
        resurrect(platform, point)
        released.result()
    platform.until_freed(id)
    checks.assert_released(platform, id)


@pytest.mark.parametrize("point", [p for p in FORWARD if p.startswith("central.placement.")])
def test_a_wait_survives_a_kill_at(platform: Platform, point: str) -> None:
    """Central dies in the round that places who waited, before or after it is true."""
    whole = platform.lease_whole_node()
    platform.until_active(whole)
    waiting = platform.wait_for_room()
    assert platform.show(waiting)["status"] == "queued"
    platform.arm(point, "kill")
    platform.release(whole)
    resurrect(platform, point)
    platform.until_active(waiting)
    platform.release(waiting)
    platform.until_freed(waiting)
    checks.assert_released(platform, waiting)


@pytest.mark.parametrize("point", UNDO)
def test_an_unwinding_lease_survives_a_kill_at(platform: Platform, point: str) -> None:
    platform.arm(places.failure_that_leads_to(point), "ruin")
    platform.arm(point, "kill")
    id = platform.lease()
    resurrect(platform, point)
    platform.until_freed(id)
    checks.assert_failed(platform, id)


def resurrect(platform: Platform, point: str) -> None:
    """Wait for the victim's death at the place, and start it again."""
    victim = platform.victim(point)
    victim.until_killed()
    if victim is platform.central:
        platform.central_up.clear()
    assert platform.hit(point)
    platform.restart(victim)
