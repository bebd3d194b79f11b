"""One platform for each worker, used by test after test; a broken one is replaced."""

from collections.abc import Generator, Iterator

import pytest

from .platform import Platform

failed = pytest.StashKey[bool]()


class Kept:
    """The platform that the tests share."""

    def __init__(self) -> None:
        self._platform: Platform | None = None

    def get(self) -> Platform:
        if self._platform is None:
            self._platform = Platform()
            self._platform.start()
        return self._platform

    def drop(self) -> None:
        if self._platform is not None:
            self._platform.stop()
            self._platform = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[failed] = item.stash.get(failed, False) or report.failed
    return report


@pytest.fixture(scope="session")
def kept() -> Iterator[Kept]:
    keeper = Kept()
    yield keeper
    keeper.drop()


@pytest.fixture
def platform(kept: Kept, request: pytest.FixtureRequest) -> Iterator[Platform]:
    """A platform on which nothing is under way, no lease is live and nothing is armed."""
    try:
        used = kept.get()
        used.disarm_all()
        used.settle()
    except BaseException:
        kept.drop()
        raise
    yield used
    if request.node.stash.get(failed, False):
        for program in (used.central, used.site, used.agent):
            print(f"{program.child.name} wrote last:\n{program.last_words()}")
        kept.drop()
