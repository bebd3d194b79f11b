"""One pair of servers for all tests; each test finds the address leading to the primary."""

from collections.abc import Iterator

import pytest

from penstock.kernel import sessions, watchdog

from . import servers
from .servers import Pair


@pytest.fixture(scope="package")
def kept() -> Iterator[Pair]:
    with servers.pair() as made:
        yield made


@pytest.fixture
def pair(kept: Pair) -> Iterator[Pair]:
    yield kept
    kept.proxy.pass_on()
    kept.lead_to_primary()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds takes one."""
    monkeypatch.setattr(sessions, "HEARTBEAT_S", 1.0)
    monkeypatch.setattr(sessions, "ANSWER_S_MAX", 1.0)
    monkeypatch.setattr(sessions, "SILENCE_S_MAX", 6)
    monkeypatch.setattr(watchdog, "LOOK_EVERY_S", 0.2)
    monkeypatch.setattr(watchdog, "USED_S", 0.5)
    monkeypatch.setattr(watchdog, "ANSWER_S_MAX", 2.0)
    monkeypatch.setattr(watchdog, "IDLE_S", 1.0)
