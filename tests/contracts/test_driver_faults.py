"""The closed set of faults, and what a caller does after each."""

import asyncio

import pytest

from penstock_contracts.drivers import faults
from penstock_contracts.drivers.faults import (
    CLOSED_SET,
    Conflict,
    CredentialsRejected,
    DriverBug,
    DriverFault,
    Gone,
    NoCapacity,
    RateLimited,
    Transient,
    Unsupported,
)


def test_the_set_is_every_fault_but_the_bug() -> None:
    assert set(DriverFault.__subclasses__()) == {*CLOSED_SET, DriverBug}
    assert all(not each.__subclasses__() for each in CLOSED_SET), "a set with subsets is not closed"


def test_each_fault_says_what_its_caller_does() -> None:
    for each in (*CLOSED_SET, DriverBug):
        assert "The caller" in str(each.__doc__), each


@pytest.mark.parametrize(
    ("fault", "pause_s"),
    [
        (NoCapacity("full"), 0.0),
        (Gone("no such machine"), None),
        (RateLimited("slow down", 7.5), 7.5),
        (RateLimited("slow down", -1), 0.0),
        (CredentialsRejected("key 7 has ended"), 0.0),
        (Conflict("it is another's"), None),
        (Transient("no answer"), 0.0),
        (Unsupported("no such thing here"), None),
        (DriverBug("it raised KeyError"), 0.0),
    ],
)
def test_only_what_stays_so_is_final(fault: DriverFault, pause_s: float | None) -> None:
    assert faults.retry_after(fault) == pause_s


@pytest.mark.parametrize("fault", [Gone("a"), RateLimited("b", 1)])
def test_a_fault_of_the_set_passes_as_it_is(fault: DriverFault) -> None:
    with pytest.raises(DriverFault) as raised, faults.only_faults("realm.toy"):
        raise fault
    assert raised.value is fault


@pytest.mark.parametrize("wrong", [KeyError("hunter2"), TimeoutError(), DriverFault("hunter2")])
def test_anything_else_is_a_bug_of_the_driver_and_is_reported_as_such(wrong: Exception) -> None:
    with pytest.raises(DriverBug) as raised, faults.only_faults("realm.toy"):
        raise wrong
    assert "driver realm.toy has a bug" in str(raised.value)
    assert type(wrong).__name__ in str(raised.value)
    assert "hunter2" not in str(raised.value), "a stranger's words may hold a secret"
    assert raised.value.__cause__ is wrong


def test_cancelling_a_call_is_no_fault() -> None:
    with pytest.raises(asyncio.CancelledError), faults.only_faults("realm.toy"):
        raise asyncio.CancelledError
