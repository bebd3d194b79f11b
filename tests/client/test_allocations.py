"""`penstock allocation`: asked for, watched, waited for, given back."""

import json

import pytest

from .leases import ALLOCATION, SLICE
from .stand_in import Answer, Api, Cli, event


def test_four_states_stand_side_by_side_with_their_ages(here: Api, cli: Cli) -> None:
    here.on("GET", ALLOCATION, SLICE)
    lines = cli("allocation", "show", "alloc_1").out.splitlines()
    header = next(line for line in lines if "DESIRED" in line)
    assert header.split() == ["DESIRED", "OBSERVED", "EXECUTION", "PROJECTED"]
    assert any("4s ago" in line and "3s ago" in line for line in lines)
    assert any("realize.provision" in line and "no report yet" in line for line in lines)


def watched(here: Api, *statuses: str) -> None:
    here.on("POST", "/v1/allocations", Answer(201, SLICE))
    here.on("POST", f"{ALLOCATION}/release", Answer(202, {**SLICE, "status": "releasing"}))
    here.on("GET", ALLOCATION, *({**SLICE, "status": status} for status in statuses))
    past = [event(1, "allocation.placed", "alloc_1")]
    here.on("GET", f"{ALLOCATION}/timeline", {"items": past, "next": None})


def test_a_watched_creation_shows_each_step_and_ends_when_active(here: Api, cli: Cli) -> None:
    watched(here, "placed", "placed", "active")
    step = {"workflow": "realize", "step": "provision", "status": "done", "detail": "8 of 8"}
    here.emit(
        event(1, "allocation.placed", "alloc_1"),
        event(2, "allocation.stepped", "alloc_1", **step),
        event(3, "allocation.observed", "alloc_1"),
    )
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--gpus", "2", "--watch")
    assert ran.code == 0
    assert "realize.provision done: 8 of 8" in ran.out
    assert ran.out.count("allocation.placed") == 1
    assert "penstock allocation release alloc_1" in ran.err
    assert here.asked("GET", "/v1/events")[0].headers["last-event-id"] == "1"
    assert here.calls[0].body == {"project": "project_1", "sku": "h100-8.slice", "gpus": 2}


def test_a_watched_creation_that_fails_exits_with_1(here: Api, cli: Cli) -> None:
    watched(here, "placed", "failed")
    here.emit(event(2, "allocation.failed", "alloc_1", reason="the node refused"))
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--watch")
    assert ran.code == 1
    assert "the node refused" in ran.out


def test_a_watched_creation_with_json_leaves_one_document_on_stdout(here: Api, cli: Cli) -> None:
    watched(here, "active")
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--watch", "--json")
    assert json.loads(ran.out)["status"] == "active"
    assert "allocation.placed" in ran.err


@pytest.mark.parametrize(("status", "code"), [("released", 0), ("cleanup_blocked", 1)])
def test_a_watched_release_ends_with_proof_or_with_1(
    status: str, code: int, here: Api, cli: Cli
) -> None:
    watched(here, "releasing", status)
    here.emit(event(2, "slot.cleanup", "slot_1"), event(3, f"allocation.{status}", "alloc_1"))
    assert cli("allocation", "release", "alloc_1", "--watch").code == code


def test_terms_are_sent_only_if_given(here: Api, cli: Cli) -> None:
    watched(here, "active")
    terms = (
        "--strategy", "spread", "--residency", "eu", "country:de", "--price-max", "2.49",
        "--apart-from", "alloc_2", "alloc_3",
    )  # fmt: skip
    assert cli("allocation", "create", "--sku", "x", *terms).code == 0
    assert here.calls[-1].body == {
        "project": "project_1", "sku": "x", "strategy": "spread",
        "residency": ["eu", "country:de"], "price_micros_max": 2_490_000,
        "apart_from": ["alloc_2", "alloc_3"],
    }  # fmt: skip
    assert cli("allocation", "create", "--sku", "x").code == 0
    assert here.calls[-1].body == {"project": "project_1", "sku": "x"}
    assert cli("allocation", "create", "--sku", "x", "--price-max", "much").code == 2


def test_a_gang_is_asked_for_by_its_nodes_and_shows_its_members(here: Api, cli: Cli) -> None:
    member = {
        "id": "alloc_1", "node": "node_1", "slots": ["slot_1"], "status": "active", "reason": "",
        "desired": "active", "observed": "active", "execution": "realize.announce done",
    }  # fmt: skip
    other = {**member, "id": "alloc_2", "node": "node_2", "status": "failed", "reason": "no boot"}
    gang = {**SLICE, "nodes": 2, "gang": "alloc_1", "members": [member, other], "status": "failed"}
    here.on("POST", "/v1/allocations", Answer(201, gang))
    ran = cli("allocation", "create", "--sku", "h100-8.metal", "--nodes", "2")
    assert here.calls[-1].body == {"project": "project_1", "sku": "h100-8.metal", "nodes": 2}
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["MEMBER", "NODE", "STATUS", "OBSERVED", "EXECUTION", "REASON"] in lines
    assert any(line[:3] == ["alloc_2", "node_2", "failed"] for line in lines)


def test_a_watched_gang_ends_when_all_of_it_is_active(here: Api, cli: Cli) -> None:
    watched(here, "placed", "placed", "active")
    here.on("POST", "/v1/allocations", Answer(201, {**SLICE, "nodes": 2}))
    here.emit(
        event(2, "allocation.observed", "alloc_1"),
        event(3, "gang.changed", "alloc_1", status="active", reason=""),
    )
    ran = cli("allocation", "create", "--sku", "h100-8.metal", "--nodes", "2", "--watch")
    assert ran.code == 0
    assert "on each of 2 nodes" in ran.out
    assert "gang.changed: active" in ran.out
