"""A fleet that lived through changes answers as one that was told of them at once."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Plan, Refusal, Request, Shape, Share, Slot

from . import engine_fleets
from .engine_fleets import after

Asked = Request | Share
asked = st.one_of(engine_fleets.requests(), engine_fleets.shares(), engine_fleets.gangs())
changes = st.lists(st.one_of(asked, engine_fleets.nodes(0), st.just("node_1")), max_size=12)


@given(engine_fleets.fleets(), changes, asked)
def test_put_take_and_drop_leave_what_the_final_nodes_would_make(
    fleet: list[Node], changes: Sequence[Asked | Node | str], last: Asked
) -> None:
    known = Fleet(fleet)
    nodes = {node.id: node for node in fleet}
    for change in changes:
        if isinstance(change, Node):
            known.put(change)
            nodes[change.id] = change
        elif isinstance(change, str):
            known.drop(change)
            nodes.pop(change, None)
        elif isinstance(plan := solver.solve(change, known), Plan):
            known.take(plan)
            nodes = {id: after(node, plan) for id, node in nodes.items()}
    assert len(known) == len(nodes)
    assert solver.solve(last, known) == solver.solve(last, Fleet(nodes.values()))


@given(engine_fleets.fleets(), st.lists(asked, max_size=12))
def test_nothing_is_taken_twice(fleet: list[Node], many: list[Asked]) -> None:
    known = Fleet(fleet)
    nodes = {node.id: node for node in fleet}
    for one in many:
        plan = solver.solve(one, known)
        if isinstance(plan, Refusal):
            continue
        known.take(plan)
        slots = {s.id: s for n in nodes.values() for s in (n.chassis, *n.gpus)}
        assert all(slots[id].usable for id in plan.slot_ids)
        nodes = {id: after(node, plan) for id, node in nodes.items()}
        for node in nodes.values():
            assert min(slot.milli_free for slot in node.gpus) >= 0
            assert min(node.cpu_milli_free, node.memory_mib_free) >= 0


@given(engine_fleets.fleets(), st.lists(asked, max_size=12), st.randoms(use_true_random=False))
def test_a_replay_decides_the_same_whatever_the_order_in_which_nodes_became_known(
    fleet: list[Node], many: list[Asked], random: Random
) -> None:
    shuffled = list(fleet)
    random.shuffle(shuffled)
    first, second = Fleet(fleet), Fleet(shuffled)
    for one in many:
        plan = solver.solve(one, first)
        assert plan == solver.solve(one, second)
        if isinstance(plan, Plan):
            first.take(plan)
            second.take(plan)


def _node(**changed: object) -> Node:
    def slot(index: int) -> Slot:
        return Slot(f"s{index}", index, 0, approved=True, free=True)

    node = Node("n", "site_a", "h100", "", slot(99), (slot(0), slot(1)))
    return replace(node, **changed)


GPU = _node().gpus[0]


@pytest.mark.parametrize(
    "impossible",
    [
        _node(gpus=()),
        _node(gpus=tuple(replace(GPU, id=f"g{n}", index=n) for n in range(65))),
        _node(gpus=(GPU, GPU)),
        _node(gpus=(GPU, replace(GPU, id="other"))),
        _node(gpus=(replace(GPU, milli_free=1001),)),
        _node(gpus=(replace(GPU, index=64),)),
        _node(gpus=(replace(GPU, numa_node=-1),)),
        _node(gpus=(replace(GPU, numa_node=1 << 30),)),
        _node(wrong="it has no chassis"),
        _node(family=""),
        _node(cpu_milli_free=-1),
        _node(price_micros_per_gpu_hour=-1),
    ],
)
def test_a_node_that_cannot_be_true_is_named_and_left_out_until_it_can(impossible: Node) -> None:
    fleet = Fleet([_node()])
    fleet.put(impossible)
    assert fleet.quarantined[impossible.id]
    assert len(fleet) == 0
    assert isinstance(solver.solve(Request("h100", Shape.GPU_SLICE, 1), fleet), Refusal)
    fleet.put(_node())
    assert not fleet.quarantined
    assert isinstance(solver.solve(Request("h100", Shape.GPU_SLICE, 1), fleet), Plan)
