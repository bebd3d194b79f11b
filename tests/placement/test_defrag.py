"""A defragmentation plan, carried out on paper with the solver's own fleet: it says the truth."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.defragmentation import defrag, yards
from penstock.placement.defragmentation.moves import MovePlan, Price, Target
from penstock.placement.explaining import availability
from penstock.placement.kinds import cohorts
from penstock.placement.model import Fleet, Plan, Request, Shape

from . import leased_fleets
from .leased_fleets import Leased

TARGETS = (
    Target(Shape.BAREMETAL, 4),
    Target(Shape.BAREMETAL, 2),
    Target(Shape.GPU_SLICE, 2),
    Target(Shape.GPU_SLICE, 3),
    Target(Shape.GPU_SLICE, 4),
)
targets = st.sampled_from(TARGETS)


def planned(made: Leased, target: Target, site: str = "site_a") -> MovePlan:
    family = made.fleet.family("h100")
    assert family is not None
    return defrag.plan(yards.survey(family, site, made.leases.values()), target)


def room(fleet: Fleet, target: Target) -> int:
    asked = Request("h100", target.shape, target.gpus, "site_a")
    return availability.count_all(asked, fleet).get("site_a", 0)


def after(made: Leased, plan: MovePlan) -> Leased:
    """Each move checked, then made."""
    fleet = made.fleet
    now = Leased(dict(made.nodes), dict(made.leases))
    for move in plan.moves:
        lease, goal = now.leases[move.lease.id], now.nodes[move.to_node_id]
        source = now.nodes[lease.node_id]
        slots = {slot.id: slot for slot in goal.gpus}
        assert lease == move.lease, "a lease moves once, from where it is"
        assert len(set(move.to_slot_ids)) == lease.gpus
        assert all(slots[id].usable for id in move.to_slot_ids), "a slot is held twice"
        assert goal.chassis.free
        assert source.chassis.free
        assert goal.id != source.id
        assert goal.site_id == source.site_id == "site_a"
        assert all(slot.fabric for slot in goal.gpus) == all(slot.fabric for slot in source.gpus)
        # The solver itself would put it there, under the lease's own policy.
        only = replace(lease.request, gpus=lease.gpus, site_id="site_a")
        assert isinstance(solver.solve(only, Fleet([goal])), Plan)
        now.apply(move, fleet)
        assert room(fleet, TARGETS[2]) == room(now.fleet, TARGETS[2])
    return now


@given(leased_fleets.leased(), targets)
def test_moves_made_one_by_one_never_meet_and_gain_what_the_plan_says(
    made: Leased, target: Target
) -> None:
    plan = planned(made, target)
    then = after(made, plan)
    assert room(then.fleet, target) == room(made.fleet, target) + plan.opened_total
    for gain in plan.gains:
        size = Target(gain.shape, gain.gpus)
        assert (gain.before, gain.after) == (room(made.fleet, size), room(then.fleet, size))
    gpus = sum(move.lease.gpus for move in plan.moves)
    assert plan.cost_gpu_minutes == Price().cost(gpus)
    assert bool(plan.moves) == bool(plan.opened_total)


@given(leased_fleets.leased(), targets, st.sampled_from(("tenant_a", "tenant_b")), st.booleans())
def test_everyone_gains_what_the_plan_says_of_the_nodes_they_may_use(
    made: Leased, target: Target, tenant: str, resident: bool
) -> None:
    plan = planned(made, target)
    then = after(made, plan)
    tags = ("eu",) if resident else ()
    asked = Request("h100", target.shape, target.gpus, "site_a", tenant=tenant, residency=tags)
    gained = sum(n for t, n in plan.opened.items() if cohorts.failed(asked, t) is None)
    assert gained >= 0
    counts = [availability.count(asked, each.fleet).get("site_a", 0) for each in (made, then)]
    assert counts[1] == counts[0] + gained


@given(leased_fleets.leased(), targets)
def test_who_must_stay_apart_stays_and_nobody_comes_to_it(made: Leased, target: Target) -> None:
    apart = {lease.node_id for lease in made.leases.values() if lease.request.apart_from}
    for move in planned(made, target).moves:
        assert move.lease.node_id not in apart
        assert move.to_node_id not in apart


@given(leased_fleets.leased(), targets)
def test_leases_that_the_fleet_does_not_know_are_left_alone(made: Leased, target: Target) -> None:
    """The two are read one after the other: a lease may have come or gone in between."""
    known = Leased(dict(made.nodes), dict(made.leases))
    for id, lease in list(made.leases.items())[::2]:
        known.give(known.nodes[lease.node_id], lease.slot_ids, free=True)
        made.leases[id] = lease
    plan = planned(known, target)
    for id in list(made.leases)[::2]:
        known.leases.pop(id)
    after(known, plan)


def test_plans_open_nearly_all_that_any_rearrangement_could() -> None:
    bench = Path(__file__).parents[2] / "bench" / "defragmentation.py"
    asked = ["--json", "--seed", "3", "--fleets", "18", "--nodes", "40"]
    ran = subprocess.run(
        [sys.executable, bench, *asked], capture_output=True, text=True, check=True
    )
    result: dict[str, dict[str, int]] = json.loads(ran.stdout.splitlines()[-1])
    ours, first_fit, best = (result[name]["opened"] for name in ("ours", "first_fit", "optimum"))
    assert first_fit < ours <= best
    assert ours >= 0.95 * best > 0
    assert result["ours"]["gpus_moved"] < result["first_fit"]["gpus_moved"]


def test_smaller_leases_make_room_for_larger_ones() -> None:
    """Two single GPUs are free on two nodes, and a pair must leave the third."""
    made = Leased({node.id: node for node in (leased_fleets.node(n, 4) for n in range(3))})
    for number, sizes in enumerate(((1, 2), (1, 2), (2,))):
        leased_fleets.lease(made, f"node_{number:05}", sizes)
    plan = planned(made, Target(Shape.BAREMETAL, 4))
    assert [move.lease.gpus for move in plan.moves] == [1, 2]
    assert plan.opened_total == 1
    assert {move.opens for move in plan.moves} == {"node_00002"}
    after(made, plan)
