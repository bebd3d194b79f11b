"""`penstock allocation` where there is no room yet."""

import pytest

from .leases import ALLOCATION, SLICE
from .stand_in import Answer, Api, Cli, event

QUEUED = {
    **SLICE,
    "status": "queued",
    "site": None,
    "node": None,
    "slots": [],
    "estimate": {
        "position": 3,
        "at": "2999-01-01T00:00:00Z",
        "waiting_for": "leases",
        "leases": ["alloc_0"],
        "leases_of_others": 2,
    },
}


def test_what_may_wait_says_how_and_how_long(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/allocations", Answer(201, QUEUED))
    argv = ("--sku", "x", "--queue-for", "12h", "--priority", "60", "--ends", "2999-01-01T00:00Z")
    ran = cli("allocation", "create", *argv)
    assert ran.code == 0
    assert here.calls[0].body == {
        "project": "project_1", "sku": "x", "queue": True, "queue_for_s": 43_200, "priority": 60,
        "ends_at": "2999-01-01T00:00Z",
    }  # fmt: skip
    assert "number 3 in line, waits for leases to end (alloc_0, 2 of other tenants)" in ran.out
    assert "2999-01-01" in ran.out
    assert "penstock allocation release alloc_1" in ran.err


@pytest.mark.parametrize("length", ["", "12", "h", "-1h", "1w", "1.5h", "9" * 10 + "s"])
def test_a_wait_that_is_no_length_of_time_is_a_usage_error(
    length: str, here: Api, cli: Cli
) -> None:
    ran = cli("allocation", "create", "--sku", "x", f"--queue-for={length}")
    assert ran.code == 2
    assert here.calls == []


def test_a_list_shows_places_in_line(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/allocations", {"items": [QUEUED, {**SLICE, "estimate": None}]})
    lines = cli("allocation", "ls").out.splitlines()
    at = lines[0].split().index("LINE")
    assert [line.split()[at] for line in lines[1:]] == ["3", "–"]


@pytest.mark.parametrize(("status", "code"), [("active", 0), ("expired", 1)])
def test_a_watched_wait_ends_when_active_or_over(
    status: str, code: int, here: Api, cli: Cli
) -> None:
    here.on("POST", "/v1/allocations", Answer(201, QUEUED))
    here.on("GET", ALLOCATION, QUEUED, {**SLICE, "status": "placed"}, {**SLICE, "status": status})
    past = [event(1, "allocation.queued", "alloc_1")]
    here.on("GET", f"{ALLOCATION}/timeline", {"items": past, "next": None})
    here.emit(
        event(1, "allocation.queued", "alloc_1"),
        event(2, "allocation.placed", "alloc_1"),
        event(3, "allocation.observed", "alloc_1"),
    )
    ran = cli("allocation", "create", "--sku", "x", "--queue", "--watch")
    assert ran.code == code
    assert ran.out.count("allocation.queued") == 1
    assert "allocation.placed" in ran.out
