"""What the engine says when it places nothing."""

from dataclasses import replace

import pytest

from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Refusal, Request, Shape, Share, Slot

SLICE = Request("h100", Shape.GPU_SLICE, 2)
SHARE = Share(("h100",), 1, 500, 1000, 1024)


def node(id: str, gpus: int = 4, held: int = 0, site_id: str = "site_a") -> Node:
    def slot(name: str, index: int) -> Slot:
        return Slot(f"{id}_{name}", index, index // 2, approved=True, free=index >= held)

    chassis = replace(slot("c", 0), free=True)
    slots = tuple(slot(str(n), n) for n in range(gpus))
    return Node(id, site_id, "h100", "", chassis, slots)


def refusal(request: Request | Share, *nodes: Node) -> Refusal:
    solved = solver.solve(request, Fleet(nodes))
    assert isinstance(solved, Refusal)
    return solved


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (replace(SLICE, family="b300"), "no node of family b300 is known; there is h100"),
        (replace(SLICE, gpus=5), "the largest h100 node has 4 GPUs, not 5"),
        (replace(SLICE, gpus=0), "nothing to place"),
        (replace(SLICE, nodes=2), "a gang takes whole nodes"),
        (Request("h100", Shape.BAREMETAL, 3), "no h100 node has 3 GPUs; they have 4"),
        (Request("h100", Shape.BAREMETAL, 4, nodes=2), "no site has 2 h100 nodes of 4 GPUs"),
        (replace(SLICE, families_allowed=("l40s",)), "policy does not allow family h100"),
        (replace(SLICE, sites=()), "policy allows no site"),
        (replace(SLICE, site_id="site_b", sites=("site_a",)), "does not allow the site that"),
        (replace(SLICE, price_micros_max=-1), "the price ceiling is negative"),
        (replace(SLICE, residency=("eu", "us")), "no node of this family is tagged us"),
        (replace(SLICE, residency=("eu", "de")), "has all of the tags eu, de"),
        (replace(SLICE, sites=("site_a",), residency=("de",)), "sites that are allowed is tagged"),
        (replace(SLICE, site_id="site_b", residency=("eu",)), "sites that are allowed is tagged"),
        (replace(SLICE, price_micros_max=4), "asks 5 micros for a GPU-hour; the ceiling is 4"),
        (replace(SHARE, residency=("us",)), "no node of this family is tagged us"),
        (replace(SHARE, gpus=2), "only a single GPU can be shared"),
        (replace(SHARE, milli=1001), "only a single GPU can be shared"),
        (replace(SHARE, milli=0), "ask for 0 GPUs"),
        (replace(SHARE, cpu_milli=-1), "less than nothing"),
        (replace(SHARE, gpus=5, milli=1000), "the largest node has 4 GPUs, not 5"),
    ],
)
def test_what_can_never_fit_is_refused_as_such(request_: Request | Share, said: str) -> None:
    german = replace(node("m", site_id="site_b"), tags=frozenset(("de",)))
    nodes = (replace(node("n"), tags=frozenset(("eu",))), german)
    refused = refusal(request_, *(replace(node, price_micros_per_gpu_hour=5) for node in nodes))
    assert refused.never
    assert said in refused.why
    assert sum(refused.rejections.values()) == refused.considered


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (replace(SLICE, gpus=8, site_id="small"), "largest h100 node that may be used has 4"),
        (replace(SLICE, gpus=8, sites=("small",)), "largest h100 node that may be used has 4"),
        (replace(SLICE, gpus=8, price_micros_max=0), "largest h100 node that may be used has 4"),
        (Request("h100", Shape.BAREMETAL, 8, "small"), "that may be used has 8 GPUs; they have 4"),
        (Request("h100", Shape.BAREMETAL, 4, nodes=3), "of 4 GPUs; the most is 2"),
        (Request("h100", Shape.BAREMETAL, 8, nodes=2), "of 8 GPUs; the most is 1"),
        (
            Request("h100", Shape.BAREMETAL, 4, "large", nodes=2),
            "of 4 GPUs that may be used; the most is 1",
        ),
    ],
)
def test_only_nodes_that_a_request_may_use_make_it_possible(request_: Request, said: str) -> None:
    """Held, drained or not approved: that can change by itself, and is a matter of waiting."""
    four = [replace(node(f"n{n}", held=4, site_id="small"), blocked="draining") for n in range(2)]
    eight = replace(node("m", 8, held=8, site_id="large"), price_micros_per_gpu_hour=5)
    refused = refusal(request_, *four, eight, node("k", site_id="large"))
    assert refused.never
    assert said in refused.why
    assert sum(refused.rejections.values()) == refused.considered == 4


def test_what_drained_or_unapproved_nodes_of_a_site_could_take_is_not_impossible() -> None:
    drained = replace(node("n", 8, site_id="here"), blocked="draining")
    raw = node("m", 8, site_id="here")
    unapproved = replace(raw, gpus=tuple(replace(slot, approved=False) for slot in raw.gpus))
    gang = Request("h100", Shape.BAREMETAL, 8, "here", nodes=2)
    for asked in (gang, replace(gang, nodes=1), replace(SLICE, gpus=8, site_id="here")):
        assert not refusal(asked, drained, unapproved, node("k", site_id="there")).never


def test_what_fits_no_node_now_is_not_called_impossible() -> None:
    refused = refusal(SLICE, node("n", held=3))
    assert not refused.never
    assert refused.rejections["free_enough"] == refused.considered == 1


def test_policy_that_only_busy_or_draining_nodes_meet_is_a_matter_of_waiting() -> None:
    tagged = replace(node("n", held=3), tags=frozenset(("eu",)), price_micros_per_gpu_hour=5)
    drained = replace(tagged, id="m", blocked="draining")
    picky = replace(SLICE, residency=("eu",), price_micros_max=5)
    refused = refusal(picky, tagged, replace(drained, chassis=replace(drained.chassis, id="x")))
    assert not refused.never
    assert refused.rejections["schedulable"] == refused.rejections["free_enough"] == 1


def test_a_site_without_nodes_yet_does_not_make_a_tag_impossible() -> None:
    tagged = replace(node("n"), tags=frozenset(("eu",)))
    refused = refusal(replace(SLICE, sites=("site_new",), residency=("eu",)), tagged)
    assert not refused.never
    assert refused.rejections["site_permitted"] == 1


def test_a_refusal_by_policy_still_counts_what_each_rule_removed() -> None:
    dear = replace(node("m"), price_micros_per_gpu_hour=9)
    refused = refusal(replace(SLICE, price_micros_max=4), dear)
    assert refused.never
    assert refused.rejections["affordable"] == refused.considered == 1
