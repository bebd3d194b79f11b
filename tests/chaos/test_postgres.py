"""Postgres, of both planes at once, killed in the middle of things."""

from collections.abc import Iterator

import pytest

from . import checks, places
from .platform import Platform

UNDER_WAY = "SELECT 1 FROM tasks WHERE allocation_id = %s AND id LIKE %s AND result IS NULL"
SITE_TRIES_AGAIN = "database away"
ENGINE_TRIES_AGAIN = "penstock.site.engine_sessions"


@pytest.fixture
def slow(platform: Platform) -> Iterator[Platform]:
    """A platform whose node takes its time, so that there is a middle."""
    platform.restart_agent(delay_ms=300)
    yield platform
    platform.restart_agent()


@pytest.mark.parametrize("moment", ["accepted", "provisioning", "releasing"])
def test_a_lease_survives_the_death_of_postgres_while(slow: Platform, moment: str) -> None:
    id = slow.lease()
    if moment == "provisioning":
        slow.until_site(UNDER_WAY, id, "provision:%")
    if moment == "releasing":
        slow.until_active(id)
        slow.release(id)
        slow.until_site(UNDER_WAY, id, "release:%")
    slow.postgres.kill()
    slow.postgres.start()
    slow.until_active(id) if moment != "releasing" else None
    slow.release(id)
    slow.until_freed(id)
    assert slow.central.running
    assert slow.site.running
    checks.assert_released(slow, id)


@pytest.mark.parametrize(
    "point",
    [
        "site.document.received",
        "site.document.started",
        *places.steps("realize"),
        *places.steps("release"),
    ],
)
def test_a_lease_survives_a_database_that_is_gone_for_a_while_at(
    platform: Platform, point: str
) -> None:
    """A step, or the engine that writes down its outcome, waits for the database."""
    words = SITE_TRIES_AGAIN if point.endswith(("before", "started")) else ENGINE_TRIES_AGAIN
    releasing = point.startswith("site.release.")
    if releasing:
        id = platform.lease()
        platform.until_active(id)
        platform.arm(point, "stop")
        platform.release(id)
    else:
        platform.arm(point, "stop")
        id = platform.lease()
    platform.site.until_frozen()
    platform.postgres.kill()
    platform.site.thaw()
    platform.site.until_written(words)
    platform.postgres.start()
    if not releasing:
        platform.until_active(id)
        platform.release(id)
    platform.until_freed(id)
    assert platform.site.running
    checks.assert_released(platform, id)
