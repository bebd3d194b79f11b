"""Availability against the solver itself: take until it refuses, and count."""

from dataclasses import replace

from hypothesis import given

from penstock.placement import solver
from penstock.placement.explaining import availability
from penstock.placement.model import Fleet, Node, Plan, Request, Shape, Slot

from . import engine_fleets


def takes(request: Request, fleet: list[Node]) -> dict[str, int]:
    """By site: how many the solver gives, one after the other."""
    current = Fleet(fleet)
    found: dict[str, int] = {}
    while isinstance(plan := solver.solve(request, current), Plan):
        current.take(plan)
        found[plan.site_id] = found.get(plan.site_id, 0) + 1
    return found


def present(counts: dict[str, int]) -> dict[str, int]:
    return {site: count for site, count in counts.items() if count}


@given(engine_fleets.fleets(), engine_fleets.requests())
def test_it_is_what_one_can_take_until_the_solver_refuses(
    fleet: list[Node], request: Request
) -> None:
    assert present(availability.count(request, Fleet(fleet))) == takes(request, fleet)


@given(engine_fleets.fleets(), engine_fleets.gangs())
def test_gangs_are_counted_as_they_can_be_taken(fleet: list[Node], request: Request) -> None:
    assert present(availability.count(request, Fleet(fleet))) == takes(request, fleet)


@given(engine_fleets.fleets(), engine_fleets.requests())
def test_it_stays_exact_while_leases_are_taken(fleet: list[Node], request: Request) -> None:
    current = Fleet(fleet)
    left = sum(availability.count(request, current).values())
    while isinstance(plan := solver.solve(request, current), Plan):
        current.take(plan)
        left -= 1
        assert sum(availability.count(request, current).values()) == left
    assert left == 0


@given(engine_fleets.fleets(), engine_fleets.requests())
def test_all_tenants_together_have_what_is_free_without_reservations(
    fleet: list[Node], request: Request
) -> None:
    plain = Request(request.family, request.shape, request.gpus, request.site_id)
    open_to_all = [replace(node, reserved_for="") for node in fleet]
    counted = availability.count_all(plain, Fleet(fleet))
    assert present(counted) == takes(plain, open_to_all)


def node(id: str, site: str, **changes: object) -> Node:
    gpus = tuple(Slot(f"{id}_{n}", n, 0, True, True) for n in range(4))
    made = Node(id, site, "h100", "", Slot(f"{id}_c", 0, 0, True, True), gpus)
    return replace(made, **changes)


def test_a_site_is_named_if_it_may_be_used_and_only_then() -> None:
    fleet = Fleet(
        [
            node("n1", "full", blocked="draining"),
            node("n2", "theirs", reserved_for="tenant_b"),
            node("n3", "mine", reserved_for="tenant_a"),
        ]
    )
    asked = Request("h100", Shape.GPU_SLICE, 3, tenant="tenant_a")
    assert availability.count(asked, fleet) == {"full": 0, "mine": 1}
    assert availability.count_all(asked, fleet) == {"full": 0, "mine": 1, "theirs": 1}
    assert availability.count(replace(asked, family="l40s"), fleet) == {}


def test_nodes_to_stay_apart_from_do_not_count() -> None:
    nodes = [node(f"n{n}", "a") for n in range(3)]
    for shape, gpus, each in ((Shape.GPU_SLICE, 2, 2), (Shape.BAREMETAL, 4, 1)):
        asked = Request("h100", shape, gpus, apart_from=("n1", "nowhere"))
        assert availability.count(asked, Fleet(nodes)) == takes(asked, nodes) == {"a": 2 * each}


def test_what_can_never_be_is_available_never() -> None:
    nodes = [node(f"n{n}", "a") for n in range(3)]
    for asked in (
        Request("h100", Shape.GPU_SLICE, 2, nodes=2),
        Request("h100", Shape.GPU_SLICE, 0),
        Request("h100", Shape.GPU_SLICE, 5),
        Request("h100", Shape.BAREMETAL, 3),
    ):
        assert availability.count(asked, Fleet(nodes)) == {"a": 0}
        assert takes(asked, nodes) == {}
