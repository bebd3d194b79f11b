"""A process that stood still is told apart from one that is merely slow."""

from penstock.kernel.http import clients
from penstock.kernel.http.clients import WAIT_S_MAX
from penstock.kernel.stalls import STALL_S, Stalls


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_stall_is_counted_once_by_who_looks_first() -> None:
    clock = Clock()
    stalls = Stalls(clock, clock)
    stalls.beat()
    clock.now_s += STALL_S - 0.1
    assert stalls.look() == 0
    clock.now_s += 0.2
    assert [stalls.look(), stalls.look()] == [1, 1]
    stalls.beat()
    assert stalls.look() == 1
    clock.now_s += 60
    stalls.beat()
    assert stalls.look() == 2


def test_a_jump_of_the_time_of_day_is_a_stall_and_a_step_back_is_none() -> None:
    """A virtual machine that was paused has no clock that ran on."""
    day = Clock()
    stalls = Stalls(Clock(), day)
    stalls.beat()
    day.now_s -= 3600
    assert stalls.look() == 0
    stalls.beat()
    day.now_s += 60
    assert stalls.look() == 1


def test_nothing_is_counted_while_nobody_beats() -> None:
    clock = Clock()
    stalls = Stalls(clock, clock)
    clock.now_s += 3600
    assert stalls.look() == 0


def test_patience_ends_with_its_time_or_with_a_stall() -> None:
    clock = Clock()
    stalls = Stalls(clock, clock)
    stalls.beat()
    first = clients.begin(stalls, None)
    for _ in range(3):
        clock.now_s += STALL_S - 1
        stalls.beat()
    assert not first.over(stalls)
    clock.now_s += STALL_S + 1
    later = clients.begin(stalls, None)
    assert first.over(stalls), "it stood still"
    assert not later.over(stalls)
    for _ in range(int(WAIT_S_MAX)):
        clock.now_s += 1.1
        stalls.beat()
    assert later.over(stalls), "its time is over"
