"""Nodes that fail, hang, die and lie: nothing is freed without proof, and people are told why."""

from collections.abc import Iterator

import pytest

from penstock_client.views.fleet import NodeHealth

from . import checks, watching
from .platform import Fault, Platform


@pytest.fixture
def node(platform: Platform) -> Iterator[Platform]:
    """A platform whose node may be made to misbehave; it is honest again afterwards."""
    yield platform
    platform.restart_agent()


def test_a_node_that_cannot_provision_fails_the_lease_in_its_own_words(node: Platform) -> None:
    node.restart_agent([{"task": "vm_provision", "fault": "fail", "reason": "GPU 3 fell off"}])
    id = node.lease()
    node.until_freed(id)
    assert node.show(id)["reason"] == "GPU 3 fell off"
    checks.assert_failed(node, id)


def test_a_node_that_hands_over_other_gpus_fails_the_lease(node: Platform) -> None:
    node.restart_agent([{"task": "vm_provision", "fault": "lie", "lie": "wrong_gpus"}])
    id = node.lease()
    node.until_freed(id)
    assert "other GPUs than those that were claimed" in str(node.show(id)["reason"])
    checks.assert_failed(node, id)


@pytest.mark.parametrize("task", ["vm_provision", "vm_release"])
def test_a_node_that_dies_after_the_effect_has_it_once(node: Platform, task: str) -> None:
    node.restart_agent([{"task": task, "fault": "die_after"}])
    id = node.lease()
    if task == "vm_release":
        node.until_active(id)
        node.release(id)
    node.agent.until_killed()
    node.agent.start()
    node.until_active(id) if task == "vm_provision" else None
    node.release(id)
    node.until_freed(id)
    checks.assert_released(node, id)


STUCK: Fault = {"fault": "fail", "reason": "NVMe is stuck", "times": 3}
UNFIT: Fault = {"fault": "fail_step", "step": "gpu.reset"}


def lie(name: str) -> Fault:
    return {"fault": "lie", "lie": name}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(lie("omit_step"), "is missing from its proof", id="omit_step"),
        pytest.param(lie("wrong_fence"), "its proof is for fence", id="wrong_fence"),
        pytest.param(lie("wrong_nonce"), "does not answer what was asked last", id="wrong_nonce"),
        pytest.param(UNFIT, "step gpu.reset failed: injected fault", id="fail_step"),
        pytest.param(STUCK, "the node could not clean it: NVMe is stuck", id="fail"),
    ],
)
def test_a_slot_is_not_freed_without_proof(node: Platform, fault: Fault, reason: str) -> None:
    node.restart_agent([{"task": "vm_release", **fault}])
    id = node.lease()
    node.until_active(id)
    node.release(id)
    assert reason in node.until_blocked(id)
    seen = node.show(id)
    assert seen["status"] == "cleanup_blocked"
    assert reason in str(seen["reason"])
    freed = "SELECT slot_id FROM claims WHERE allocation_id = %s AND freed_at IS NOT NULL"
    assert watching.rows(node.central_url, freed, id) == []
    states = [node.client.slots.get(slot)["state"] for slot in seen["slots"]]
    assert states == ["cleanup_blocked"] * 2

    node.client.slots.cleanup(seen["slots"][0])  # the fault is spent: now it is honest
    node.until_freed(id)
    checks.assert_released(node, id)


def test_a_node_that_could_not_clean_at_first_is_asked_again(node: Platform) -> None:
    node.restart_agent([{"task": "vm_release", "fault": "fail", "times": 2}])
    id = node.lease()
    node.until_active(id)
    node.release(id)
    node.until_freed(id)
    checks.assert_released(node, id)


def test_a_node_that_hangs_is_bounded_by_the_deadline(node: Platform) -> None:
    node.restart_site(PENSTOCK_SITE_TASK_DEADLINE_S="2")
    try:
        hang = {"fault": "hang"}
        node.restart_agent([{"task": "vm_provision", **hang}, {"task": "vm_release", **hang}])
        failed = node.lease()
        node.until_freed(failed)  # its undo hung as well, once, and was repeated
        assert "deadline passed" in str(node.show(failed)["reason"])
        checks.assert_failed(node, failed)

        node.restart_agent([{"task": "vm_release", **hang}])
        id = node.lease()
        node.until_active(id)
        node.release(id)
        node.until_freed(id)
        checks.assert_released(node, id)
    finally:
        node.restart_site()


def health_of(node: Platform) -> NodeHealth:
    (one,) = node.client.nodes.list()["items"]
    return one["health"]


def until_told(node: Platform, event: str, times: int = 1) -> None:
    told = "SELECT 1 FROM events WHERE type = %s HAVING count(*) >= %s"
    node.until_central(told, event, times)


def test_a_node_that_never_made_what_it_said_is_found_out_at_its_next_connection(
    node: Platform,
) -> None:
    node.restart_agent([{"task": "vm_provision", "fault": "lie", "lie": "nothing"}])
    id = node.lease()
    node.until_active(id)
    node.restart_agent()
    until_told(node, "node.discrepancy_found")
    (found,) = health_of(node)["discrepancies"]
    assert (found["kind"], found["allocation"]) == ("not_held", id)
    assert node.show(id)["status"] == "active", "it is told, and nothing else is done"
    node.release(id)
    node.until_freed(id)
    until_told(node, "node.discrepancy_cleared")
    assert health_of(node)["discrepancies"] == []
    checks.assert_released(node, id)


def test_a_runtime_that_ends_and_a_gpu_that_fails_are_shown_on_their_node(node: Platform) -> None:
    xid = {"check": "gpu.xid", "gpu": 3, "detail": "XID 79"}
    node.restart_agent([{"task": "vm_provision", "fault": "end_runtime"}], health=[xid])
    until_told(node, "node.health_changed")
    (problem,) = health_of(node)["problems"]
    assert (problem["check"], problem["detail"]) == ("gpu.xid", "XID 79")
    id = node.lease()
    until_told(node, "node.health_changed", times=2)
    node.until_central(
        "SELECT 1 FROM node_health WHERE jsonb_array_length(discrepancies) = 1"
        " AND jsonb_array_length(problems) = 2"
    )
    node.release(id)
    node.until_freed(id)
    node.restart_agent()
    node.until_central("SELECT 1 FROM node_health WHERE discrepancies = '[]' AND problems = '[]'")
    assert health_of(node)["healthy"]
