"""Fair shares: a flood leaves room, and what is given back is whole."""

from contextlib import ExitStack, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import Unavailable
from penstock.kernel.shares import FLOOD, Shares


def flood(shares: Shares, stack: ExitStack, who: str) -> int:
    """Take places until one is refused; how many were given."""
    taken = 0
    while True:
        try:
            stack.enter_context(shares.hold(who))
        except Unavailable:
            return taken
        taken += 1


def test_a_flood_gets_most_of_the_room_and_leaves_some_for_others() -> None:
    shares = Shares(1000, "requests")
    with ExitStack() as stack:
        assert flood(shares, stack, "loud") == 1000 * FLOOD // (FLOOD + 1)
        for _ in range(50):
            stack.enter_context(shares.hold("quiet"))
        with pytest.raises(Unavailable) as refused:
            stack.enter_context(shares.hold("loud"))
        assert (refused.value.code, refused.value.retry_after_s) == ("overloaded", 1)


def test_two_floods_that_come_in_turns_get_the_same() -> None:
    shares = Shares(900, "requests")
    with ExitStack() as stack:
        held = {"a": 0, "b": 0}
        for _ in range(900):
            for who in held:
                try:
                    stack.enter_context(shares.hold(who))
                except Unavailable:
                    continue
                held[who] += 1
        assert held["a"] == held["b"] == 400
        assert shares.total < 900


@given(st.integers(1, 40), st.lists(st.sampled_from("abcde"), max_size=200))
def test_never_more_than_the_room_and_nothing_is_left_behind(room: int, wanted: list[str]) -> None:
    shares = Shares(room, "requests")
    with ExitStack() as stack:
        for who in wanted:
            with suppress(Unavailable):
                stack.enter_context(shares.hold(who))
            assert shares.total <= room
        if wanted:
            assert shares.total >= 1
    assert shares.total == 0
    with shares.hold("a"):
        assert shares.total == 1
