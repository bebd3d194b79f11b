"""A peer that stands still is noticed within seconds, at the other end of each link."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from . import checks, watching
from .platform import Platform
from .program import Program

NOTICED_S_MAX: Final = 30.0  # 15 s are promised; this machine may be busy


@contextmanager
def frozen(*programs: Program) -> Generator[float]:
    """They stand still within the block; gives the moment until which it must be noticed."""
    for program in programs:
        program.freeze()
    try:
        yield time.monotonic() + NOTICED_S_MAX
    finally:
        for program in programs:
            program.thaw()


def test_a_site_notices_that_central_and_a_node_are_frozen(platform: Platform) -> None:
    """Upwards it dials, downwards it listens: each end notices by itself."""
    platform.site.note()
    with frozen(platform.central, platform.agent) as until:
        lost = "SELECT 1 FROM nodes WHERE NOT connected"
        watching.until(platform.site_url, lost, within_s=until - time.monotonic())
        platform.site.until_written("central away", within_s=until - time.monotonic())
    assert_all_is_well(platform)


def test_central_and_a_node_notice_that_a_site_is_frozen(platform: Platform) -> None:
    platform.agent.note()
    with frozen(platform.site) as until:
        lost = "SELECT 1 FROM sites WHERE NOT connected"
        watching.until(platform.central_url, lost, within_s=until - time.monotonic())
        platform.agent.until_written("link down", within_s=until - time.monotonic())
    assert_all_is_well(platform)


def assert_all_is_well(platform: Platform) -> None:
    """Both links are there again, and a lease passes through them."""
    platform.settle()
    id = platform.lease()
    platform.until_active(id)
    platform.release(id)
    platform.until_freed(id)
    checks.assert_released(platform, id)
