"""Estimates: known ends give a time, others a name; and the fleet is as it was afterwards."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.fleet import Fleet
from penstock.placement.line import estimates
from penstock.placement.line.estimates import Estimate, WaitsFor
from penstock.placement.line.suppositions import suppose
from penstock.placement.model import Plan
from penstock.placement.requests import Request

from .backlog_worlds import START, World, metal, minutes, node, slice_of, waits

ONE = slice_of(1)


def told(world: World) -> dict[str, Estimate]:
    decided = world.round()
    leases = list(world.leases.values())
    found = estimates.estimate(decided.staying, world.fleet, world.holdings(), leases, world.now)
    return {each.id: each for each in found}


def names(estimate: Estimate) -> list[str]:
    return [lease.id for lease in estimate.leases]


def test_a_known_end_gives_a_time() -> None:
    world = World([node("n1")])
    world.hold("l1", slice_of(2), ends=10)
    world.hold("l2", slice_of(2), ends=30)
    world.add(waits("pair", slice_of(2)), waits("whole", metal(), at=1))
    found = told(world)
    assert found["pair"].at == START + minutes(10)
    assert found["whole"].at is None, "when both have ended, the pair will be there"
    assert [found[id].position for id in ("pair", "whole")] == [1, 2]


def test_those_before_it_count_in_an_estimate() -> None:
    world = World([node("n1")])
    for n, end in enumerate((10, 20, 30, 40)):
        world.hold(f"l{n}", ONE, ends=end)
    world.add(*(waits(f"w{n}", ONE, at=n) for n in range(3)))
    assert [told(world)[f"w{n}"].at for n in range(3)] == [
        START + minutes(end) for end in (10, 20, 30)
    ]


def test_an_end_that_has_passed_is_no_longer_known() -> None:
    world = World([node("n1")], now=START + minutes(60))
    world.hold("l1", metal(), ends=10)
    world.add(waits("whole", metal()))
    assert (told(world)["whole"].at, names(told(world)["whole"])) == (None, ["l1"])


def test_without_a_known_end_the_lease_that_would_be_enough_is_named() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("big", metal(), on="n1")
    world.hold("small", ONE, on="n2")
    world.add(waits("whole", metal()))
    found = told(world)["whole"]
    assert (found.at, found.waits_for, names(found)) == (None, WaitsFor.LEASES, ["small"])


def test_if_one_end_is_not_enough_all_that_are_needed_are_named() -> None:
    world = World([node("n1"), node("n2")])
    for n in range(3):
        world.hold(f"l{n}", ONE, on="n1")
    world.hold("draining", metal(), on="n2")
    world.fleet.put(node("n2", blocked="draining"))
    world.add(waits("whole", metal()))
    assert names(told(world)["whole"]) == ["l0", "l1", "l2"]
    named = estimates.waiting_for(slice_of(3), world.fleet, world.leases.values())
    assert len(named) == 2, "one GPU is free, so two of the three are enough"


def test_a_gang_names_leases_on_several_nodes() -> None:
    world = World([node("n1"), node("n2"), node("n3")])
    for n in (1, 2, 3):
        world.hold(f"l{n}", ONE, on=f"n{n}")
    world.add(waits("gang", metal(nodes=2)))
    assert len(names(told(world)["gang"])) == 2


def test_if_no_end_would_do_it_waits_for_capacity() -> None:
    world = World([node("n1", blocked="draining"), node("n2", 2)])
    world.hold("l1", slice_of(2))
    world.add(waits("whole", metal()))
    found = told(world)["whole"]
    assert (found.waits_for, names(found)) == (WaitsFor.CAPACITY, [])


def test_who_could_go_but_for_the_head_waits_for_its_turn() -> None:
    world = World([node("n1")])
    world.hold("l1", ONE, ends=10)
    world.add(waits("head", metal()), waits("small", ONE, at=1))
    found = told(world)
    assert found["small"].waits_for is WaitsFor.TURN
    assert found["head"].at == START + minutes(10)


def test_only_leases_near_by_need_to_be_known() -> None:
    world = World([node(f"n{n:03}") for n in range(60)])
    for n in range(60):
        world.hold(f"l{n}", metal() if n != 42 else slice_of(3), on=f"n{n:03}")
    nodes = estimates.near_nodes([slice_of(2)], world.fleet)
    assert "n042" in nodes
    assert len(nodes) <= estimates.NEAR_MAX


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_was_supposed_is_undone(data: st.DataObject) -> None:
    world = World([node(f"n{n}") for n in range(3)])
    requests = st.sampled_from((ONE, slice_of(2), slice_of(3), metal(), metal(nodes=2)))
    for n in range(8):
        request = data.draw(requests)
        if isinstance(solver.solve(request, world.fleet), Plan):
            world.hold(f"l{n}", request)
    before = answers(world.fleet)
    with suppose(world.fleet) as supposed:
        for id in data.draw(st.permutations(sorted(world.leases))):
            supposed.end(world.leases[id])
            plan = solver.solve(data.draw(requests), world.fleet)
            if isinstance(plan, Plan) and data.draw(st.booleans()):
                world.fleet.take(plan)
                supposed.took(plan)
        supposed.end(next(iter(world.leases.values())))  # a second end of one changes nothing
    assert answers(world.fleet) == before


def answers(fleet: Fleet) -> list[object]:
    """All that can be told of a fleet: its facts, and what it answers."""
    facts: list[object] = []
    for _, family in fleet.each_family():
        for id, row in sorted(family.rows.items()):
            columns, number = family.columns, row.number
            facts.append(
                (id, row.state, row.chassis_free, columns.free.item(number),
                 columns.milli[number].tolist())
            )  # fmt: skip
    asked: list[Request] = [ONE, slice_of(2), slice_of(4), metal(), metal(nodes=2)]
    return [*facts, *(solver.solve(request, fleet) for request in asked)]
