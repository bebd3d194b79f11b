"""The solver, on any fleet and any request."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.model import Fleet, Leeway, Node, Plan, Refusal, Request, Shape, Slot

FAMILIES = ("h100", "l40s")
SITES = ("site_a", "site_b")


@st.composite
def nodes(draw: st.DrawFn, number: int) -> Node:
    def slot(name: str, index: int) -> Slot:
        return Slot(
            id=f"slot_{number}_{name}",
            index=index,
            numa_node=draw(st.integers(0, 3)),
            approved=draw(st.sampled_from((True, True, True, False))),
            free=draw(st.sampled_from((True, True, False))),
        )

    return Node(
        id=f"node_{number}",
        site_id=draw(st.sampled_from(SITES)),
        family=draw(st.sampled_from(FAMILIES)),
        blocked=draw(st.sampled_from(("", "", "", "draining"))),
        chassis=slot("chassis", 0),
        gpus=tuple(slot(str(index), index) for index in range(draw(st.integers(1, 8)))),
    )


@st.composite
def fleets(draw: st.DrawFn) -> list[Node]:
    return [draw(nodes(number)) for number in range(draw(st.integers(0, 6)))]


requests = st.builds(
    Request,
    family=st.sampled_from(FAMILIES),
    shape=st.sampled_from(Shape),
    gpus=st.integers(1, 9),
    site_id=st.sampled_from((None, *SITES)),
)


@given(fleets(), requests)
def test_a_plan_takes_exactly_what_was_asked_from_usable_slots_of_one_node(
    fleet: list[Node], request: Request
) -> None:
    plan = solver.solve(request, Fleet(fleet))
    if isinstance(plan, Refusal):
        return
    node = next(node for node in fleet if node.id == plan.node_id)
    assert not node.blocked
    assert node.family == request.family
    assert request.site_id in (None, node.site_id)
    assert plan.site_id == node.site_id
    slots = {slot.id: slot for slot in (node.chassis, *node.gpus)}
    taken = [slots[id] for id in plan.slot_ids]
    assert len({slot.id for slot in taken}) == len(taken)
    assert all(slot.usable for slot in taken)
    assert node.chassis.free
    gpus = [slot for slot in taken if slot is not node.chassis]
    assert len(gpus) == request.gpus
    whole = request.shape is Shape.BAREMETAL
    assert (node.chassis in taken) == whole
    if whole:
        assert set(taken) == {node.chassis, *node.gpus}


@given(fleets(), requests)
def test_it_refuses_only_what_really_fits_nowhere(fleet: list[Node], request: Request) -> None:
    """An oracle that asks nothing of order or of scores."""

    def fits(node: Node) -> bool:
        if node.family != request.family or node.blocked or not node.chassis.free:
            return False
        if request.site_id not in (None, node.site_id):
            return False
        usable = sum(slot.approved and slot.free for slot in node.gpus)
        if request.shape is Shape.BAREMETAL:
            return node.chassis.approved and usable == len(node.gpus) == request.gpus
        return usable >= request.gpus

    solved = solver.solve(request, Fleet(fleet))
    assert isinstance(solved, Plan) == any(fits(node) for node in fleet)


@given(fleets(), requests, st.randoms(use_true_random=False))
def test_the_order_in_which_nodes_became_known_does_not_matter(
    fleet: list[Node], request: Request, random: Random
) -> None:
    shuffled = list(fleet)
    random.shuffle(shuffled)
    assert solver.solve(request, Fleet(fleet)) == solver.solve(request, Fleet(shuffled))


@given(fleets(), requests)
def test_the_rejections_of_a_refusal_add_up_to_the_nodes_considered(
    fleet: list[Node], request: Request
) -> None:
    solved = solver.solve(request, Fleet(fleet))
    of_family = sum(node.family == request.family for node in fleet)
    if isinstance(solved, Refusal):
        assert sum(solved.rejections.values()) == solved.considered == of_family
    else:
        assert sum(solved.rejections.values()) < of_family


@given(fleets(), requests, st.sets(st.integers(1, 8)).map(lambda counts: tuple(sorted(counts))))
def test_the_changes_really_fit_and_none_means_that_nothing_does(
    fleet: list[Node], request: Request, counts: tuple[int, ...]
) -> None:
    known = Fleet(fleet)
    if isinstance(solver.solve(request, known), Plan):
        return
    changes = solver.explain(request, known, Leeway(counts)).changes
    for change in changes:
        assert isinstance(solver.solve(change.request, known), Plan)
        assert (change.request.family, change.request.shape) == (request.family, request.shape)
        assert change.request.gpus in (*counts, request.gpus)
        assert change.request.gpus <= request.gpus
    kinds = {change.kind: change for change in reversed(changes)}
    fewer = kinds["fewer_gpus"].request.gpus if "fewer_gpus" in kinds else 0
    for count in counts:
        if fewer < count < request.gpus:
            assert isinstance(solver.solve(replace(request, gpus=count), known), Refusal)
    if "another_site" not in kinds:
        assert isinstance(solver.solve(replace(request, site_id=None), known), Refusal)


@given(fleets(), st.lists(requests, max_size=12))
def test_what_one_request_took_no_later_one_gets(fleet: list[Node], asked: list[Request]) -> None:
    known = Fleet(fleet)
    taken: set[str] = set()
    for request in asked:
        plan = solver.solve(request, known)
        if isinstance(plan, Plan):
            slots = set(plan.slot_ids)
            assert not taken & slots
            taken |= slots
            known.take(plan)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
def test_slots_lie_on_as_few_numa_nodes_as_possible_however_many_there_are(
    gpus: int, numa_nodes: int, wanted: int
) -> None:
    """A node may say that each of its GPUs has a NUMA node of its own; it must not cost more."""
    slots = tuple(Slot(f"s{n}", n, n % numa_nodes, True, True) for n in range(gpus))
    chassis = Slot("c", 0, 0, True, True)
    node = Node("n", "site_a", "h100", "", chassis, slots)
    solved = solver.solve(Request("h100", Shape.GPU_SLICE, wanted), Fleet([node]))
    if wanted > gpus:
        assert isinstance(solved, Refusal)
        return
    assert isinstance(solved, Plan)
    sizes = sorted((len(slots[n::numa_nodes]) for n in range(min(numa_nodes, gpus))), reverse=True)
    fewest = next(k for k in range(1, len(sizes) + 1) if sum(sizes[:k]) >= wanted)
    used = {int(id[1:]) % numa_nodes for id in solved.slot_ids}
    assert len(used) == fewest
