"""Receipts: lean in the log, whole when they are read."""

from typing import Any

import orjson

from penstock.central.fleet import Change
from penstock.central.placement import receipts
from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Plan, Request, Shape, Slot, Strategy
from penstock.placement.solving import screens

REQUESTS = [
    Request("h100", Shape.GPU_SLICE, 2),
    Request("h100", Shape.BAREMETAL, 4, "site_a"),
    Request(
        "h100", Shape.GPU_SLICE, 1, tenant="tenant_x", sites=("site_a", "site_b"),
        families_allowed=("h100",), residency=("de",), price_micros_max=0,
        apart_from=("node_c",), kept=("node_d",), strategy=Strategy.SPREAD,
    ),
]  # fmt: skip


def node(id: str) -> Node:
    gpus = tuple(Slot(f"{id}_{n}", n, n // 2, approved=True, free=True) for n in range(4))
    chassis = Slot(f"{id}_c", 0, 0, approved=True, free=True)
    return Node(
        id=id, site_id="site_a", family="h100", blocked="", chassis=chassis, gpus=gpus,
        tags=frozenset({"de"}),
    )  # fmt: skip


def line_of(plan: Plan) -> Change:
    return Change(10, "claim", plan.node_id, plan.slot_ids)


def recalled(request: Request) -> tuple[Plan, dict[str, Any]]:
    plan = solver.solve(request, Fleet([node("node_a"), node("node_d")]))
    assert isinstance(plan, Plan)
    kept = orjson.loads(receipts.keep(request, plan, policy_revision=3, revision=9))
    assert "slots" not in kept
    return plan, receipts.recall(line_of(plan), kept)


def test_a_recalled_receipt_says_all_that_was_decided() -> None:
    for request in REQUESTS:
        plan, told = recalled(request)
        assert told == {
            "policy": solver.POLICY,
            "policy_revision": 3,
            "fleet_revision": 9,
            "request": orjson.loads(orjson.dumps(request)),
            "node": plan.node_id,
            "slots": [{"slot_id": slot, "fence": 10, "milli": 1000} for slot in plan.slot_ids],
            "candidates": [
                {"node": c.node_id, "score": list(c.score), "alike": c.alike}
                for c in plan.candidates
            ],
            "rejections": plan.rejections,
        }
        assert receipts.request_of(told["request"]) == request


def test_every_rule_is_counted_in_the_order_in_which_a_node_meets_them() -> None:
    for request in REQUESTS:
        plan, told = recalled(request)
        assert list(told["rejections"]) == list(plan.rejections) == list(screens.TALLIED)


def test_a_receipt_that_was_kept_whole_is_told_as_it_is() -> None:
    whole: dict[str, object] = {
        "policy": "states/1",
        "node": "node_a",
        "slots": [],
        "rejections": {"apart": 0},
    }
    assert receipts.recall(Change(1, "claim", "node_b", ("slot_x",)), whole) == whole


def test_rules_of_another_policy_are_not_made_up() -> None:
    request = REQUESTS[0]
    plan = solver.solve(request, Fleet([node("node_a")]))
    assert isinstance(plan, Plan)
    kept = orjson.loads(receipts.keep(request, plan, policy_revision=0, revision=0))
    told = receipts.recall(line_of(plan), {**kept, "policy": "older/1"})
    assert told["rejections"] == {}
