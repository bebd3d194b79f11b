"""Postgres, of both planes at once, killed in the middle of things."""

from collections.abc import Iterator

import pytest

from . import checks
from .platform import Platform

UNDER_WAY = "SELECT 1 FROM tasks WHERE allocation_id = %s AND id LIKE %s AND result IS NULL"


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
