"""Token buckets: never more than agreed, never less, and never too many of them."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.buckets import Buckets, Rate


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_burst_is_given_at_once_and_then_one_by_one() -> None:
    clock = Clock()
    buckets = Buckets(Rate(2, 3), clock=clock)
    assert [buckets.take("a").remaining for _ in range(3)] == [2, 1, 0]
    refused = buckets.take("a")
    assert (refused.retry_after_s, refused.remaining, refused.full_in_s) == (1, 0, 2)
    assert buckets.take("b").retry_after_s == 0
    clock.now_s += 0.5
    assert buckets.take("a").retry_after_s == 0
    assert buckets.take("a").retry_after_s == 1


def test_retry_after_is_when_there_will_be_one() -> None:
    clock = Clock()
    buckets = Buckets(Rate(0.1, 1), clock=clock)
    buckets.take("a")
    wait_s = buckets.take("a").retry_after_s
    assert wait_s == 10
    clock.now_s += wait_s
    assert buckets.take("a").retry_after_s == 0


def test_what_is_given_back_can_be_taken_again_and_never_exceeds_the_burst() -> None:
    clock = Clock()
    buckets = Buckets(Rate(0.001, 2), clock=clock)
    buckets.take("a")
    buckets.give_back("a")
    buckets.give_back("a")
    assert [buckets.take("a").retry_after_s > 0 for _ in range(3)] == [False, False, True]


def test_the_least_recently_used_is_forgotten_first() -> None:
    buckets = Buckets(Rate(0.001, 1), clock=Clock(), kept_max=2)
    for name in ("a", "b", "a", "c"):
        buckets.take(name)
    assert len(buckets) == 2
    assert buckets.take("a").retry_after_s > 0  # was used after b, so b made room for c


@given(st.floats(0.1, 100), st.integers(1, 50), st.lists(st.floats(0, 2), min_size=1, max_size=200))
def test_no_more_is_given_than_the_burst_and_the_rate_since(
    per_s: float, burst: int, pauses: list[float]
) -> None:
    clock = Clock()
    buckets = Buckets(Rate(per_s, burst), clock=clock)
    began, given_out = clock.now_s, 0
    for pause in pauses:
        clock.now_s += pause
        given_out += not buckets.take("a").retry_after_s
        assert given_out <= burst + (clock.now_s - began) * per_s + 1e-6


@given(st.floats(0.1, 100), st.integers(1, 50), st.integers(1, 100))
def test_who_asks_no_faster_than_the_rate_is_never_refused(
    per_s: float, burst: int, calls: int
) -> None:
    clock = Clock()
    buckets = Buckets(Rate(per_s, burst), clock=clock)
    for _ in range(calls):
        assert buckets.take("a").retry_after_s == 0
        clock.now_s += 1 / per_s * (1 + 1e-9)
