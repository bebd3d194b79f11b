"""A plane that is away holds nobody up: what was done meanwhile arrives, once."""

from collections import Counter

from . import checks, watching
from .platform import Platform

HEAD = "SELECT seq FROM feed_heads WHERE feed = %s"


def test_a_site_goes_on_while_central_is_away(platform: Platform) -> None:
    platform.restart_agent(delay_ms=500)
    released, kept = platform.lease(), platform.lease(1)
    platform.until_active(released)
    platform.until_active(kept)
    platform.release(released)
    platform.until_site("SELECT 1 FROM documents WHERE key = %s AND revision = 2", released)
    platform.kill_central()

    platform.until_site(
        "SELECT 1 FROM observations WHERE key = %s AND observed = 'OBSERVED_RELEASED'",
        released,
    )
    assert checks.world(platform, "SELECT allocation_id FROM runtimes") == [(kept,)]
    (waiting,) = watching.rows(
        platform.site_url, "SELECT count(*) FROM feed_entries WHERE feed = 'central'"
    )[0]
    assert waiting, "the site should hold its reports until central is back"

    platform.start_central()
    platform.until_freed(released)
    assert platform.show(kept)["status"] == "active"
    platform.release(kept)
    platform.until_freed(kept)
    for id in (released, kept):
        checks.assert_released(platform, id)
        assert_told_once(platform, id)
    assert_all_is_applied(platform)
    platform.restart_agent()


def test_a_lease_given_back_while_its_site_is_down_ends_when_it_is_up(platform: Platform) -> None:
    id = platform.lease()
    platform.until_active(id)
    platform.site.kill()
    platform.release(id)
    assert platform.show(id)["status"] == "releasing"
    platform.site.start()
    platform.until_freed(id)
    checks.assert_released(platform, id)
    assert_told_once(platform, id)


def test_a_lease_given_back_while_its_node_is_away_ends_when_it_is_back(
    platform: Platform,
) -> None:
    id = platform.lease()
    platform.until_active(id)
    platform.agent.kill()
    platform.release(id)
    platform.until_site("SELECT 1 FROM tasks WHERE allocation_id = %s AND id LIKE 'release:%%'", id)
    assert platform.show(id)["status"] == "releasing"
    platform.agent.start()
    platform.until_freed(id)
    checks.assert_released(platform, id)


def test_a_lease_asked_for_and_given_back_at_once_never_runs_on(platform: Platform) -> None:
    """The release overtakes the provisioning, whatever it was doing."""
    platform.restart_agent(delay_ms=200)
    id = platform.lease()
    platform.until_site("SELECT 1 FROM tasks WHERE allocation_id = %s", id)
    platform.release(id)
    platform.until_freed(id)
    assert platform.show(id)["status"] == "released"
    checks.assert_over(platform, id)
    platform.restart_agent()


def assert_told_once(platform: Platform, id: str) -> None:
    """Central heard of each observation and each proof exactly once."""
    events = platform.client.allocations.timeline(id)["items"]
    types = Counter(event["type"] for event in events)
    assert types["allocation.released"] == 1
    assert types["allocation.observed"] == 3  # active, stopping, released
    assert types["slot.cleanup_proven"] == len(platform.show(id)["slots"])


def assert_all_is_applied(platform: Platform) -> None:
    """Central's cursor is at the head of the site's reports, and the other way round."""
    platform.settle()
    site, central = platform.site_url, platform.central_url
    name, applied = watching.rows(central, "SELECT source, seq FROM feed_cursors")[0]
    assert [(applied,)] == watching.rows(site, HEAD, "central")
    received = "SELECT seq FROM feed_cursors WHERE source = 'central'"
    assert watching.rows(site, received) == watching.rows(central, HEAD, name)
