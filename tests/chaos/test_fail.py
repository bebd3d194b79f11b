"""Every step of both sagas made to fail once: for good, a lease unwinds; else it is tried again."""

import pytest

from . import checks, places, watching
from .platform import Platform


@pytest.mark.parametrize("point", places.steps("realize"))
def test_a_lease_goes_on_after_a_passing_failure_at(platform: Platform, point: str) -> None:
    platform.arm(point, "fail")
    id = platform.lease()
    platform.until_active(id)
    assert platform.hit(point)
    platform.release(id)
    platform.until_freed(id)
    assert not [name for name, status in steps_of(platform, id) if status == "STEP_STATUS_UNDONE"]
    checks.assert_released(platform, id)


@pytest.mark.parametrize("point", places.steps("realize"))
def test_a_lease_unwinds_after_a_failure_for_good_at(platform: Platform, point: str) -> None:
    platform.arm(point, "ruin")
    id = platform.lease()
    platform.until_freed(id)
    assert platform.hit(point)
    assert platform.show(id)["reason"] == f"failpoint {point} was hit"
    if point == "site.realize.announce.do.after":  # it was the tenant's, for a moment
        checks.assert_usage(platform, id, "OBSERVED_ACTIVE", "OBSERVED_FAILED")
    else:
        assert checks.usage_of(platform, id) == []
    assert ("unprovision", "undone") in steps_of(platform, id)
    checks.assert_over(platform, id)


@pytest.mark.parametrize("point", [p for p in places.DECLARED if ".undo." in p])
def test_an_undo_is_repeated_after_a_failure_at(platform: Platform, point: str) -> None:
    platform.arm(places.failure_that_leads_to(point), "ruin")
    platform.arm(point, "fail")
    id = platform.lease()
    platform.until_freed(id)
    assert platform.hit(point)
    checks.assert_failed(platform, id)


@pytest.mark.parametrize("point", places.steps("release"))
def test_a_release_goes_on_after_a_failure_at(platform: Platform, point: str) -> None:
    platform.arm(point, "fail")
    id = platform.lease()
    platform.until_active(id)
    platform.release(id)
    platform.until_freed(id)
    assert platform.hit(point)
    assert {"done"} <= {status for _, status in steps_of(platform, id)} <= {"started", "done"}
    checks.assert_released(platform, id)


def steps_of(platform: Platform, id: str) -> list[watching.Row]:
    """As central was told: the site keeps nothing of a lease that is over."""
    sql = (
        "SELECT data->>'step', data->>'status' FROM events"
        " WHERE subject = %s AND type = 'allocation.stepped'"
    )
    return watching.rows(platform.central_url, sql, id)
