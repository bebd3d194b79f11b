"""Gangs against an oracle that sorts every whole node, while nodes are taken, freed and moved."""

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.model import Candidate, Fleet, Node, Plan, Refusal, Request, Shape, Slot

IDS = tuple(f"n{number:02d}" for number in range(14))
Gang = tuple[int, int, str, tuple[str, ...]]  # leaves, left on the last one, site, nodes


def node(id: str, site: str, leaf: str, price: int, gpus: int) -> Node:
    slots = [Slot(f"{id}_{n}", n, 0, approved=True, free=True) for n in range(gpus)]
    chassis = Slot(f"{id}_c", 0, 0, approved=True, free=True)
    return Node(id, site, "h100", "", chassis, tuple(slots), leaf, price_micros_per_gpu_hour=price)


@st.composite
def nodes(draw: st.DrawFn, id: str) -> Node:
    return node(
        id,
        draw(st.sampled_from(("site_a", "site_a", "site_b"))),
        draw(st.sampled_from(("", "leaf_1", "leaf_2", "leaf_3"))),
        draw(st.sampled_from((0, 5, 9))),
        draw(st.sampled_from((1, 1, 1, 2))),
    )


@st.composite
def requests(draw: st.DrawFn) -> Request:
    return Request(
        "h100", Shape.BAREMETAL, 1, draw(st.sampled_from((None, None, "site_a"))),
        nodes=draw(st.integers(2, 5)),
        price_micros_max=draw(st.sampled_from((None, None, 0, 5))),
        apart_from=tuple(draw(st.sets(st.sampled_from(IDS), max_size=3))),
    )  # fmt: skip


def expected(request: Request, whole: list[Node]) -> list[Gang]:
    """The gang of each site, the best first."""
    ceiling = request.price_micros_max
    leaves: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in whole:
        if (
            len(each.gpus) == request.gpus
            and request.site_id in (None, each.site_id)
            and (ceiling is None or each.price_micros_per_gpu_hour <= ceiling)
            and each.id not in request.apart_from
        ):
            leaves[each.site_id][each.leaf or f"alone {each.id}"].append(each.id)
    every = {site: [sorted(ids) for ids in here.values()] for site, here in leaves.items()}
    enough = {site: here for site, here in every.items() if sum(map(len, here)) >= request.nodes}
    return sorted(gather(site, here, request.nodes) for site, here in enough.items())


def gather(site: str, leaves: list[list[str]], wanted: int) -> Gang:
    rest = sorted(leaves, key=lambda leaf: (-len(leaf), leaf))
    chosen: list[str] = []
    used = 1
    while wanted - len(chosen) > len(rest[0]):
        chosen += rest.pop(0)
        used += 1
    left = wanted - len(chosen)
    last = min((leaf for leaf in rest if len(leaf) >= left), key=lambda leaf: (len(leaf), leaf))
    return used, len(last) - left, site, (*chosen, *last[:left])


@given(st.data())
def test_every_gang_is_the_one_that_looking_at_every_node_would_find(data: st.DataObject) -> None:
    known = {id: data.draw(nodes(id)) for id in IDS}
    fleet = Fleet(known.values())
    held: list[Plan] = []
    for _ in range(6):
        taken = {id for plan in held for id in plan.node_ids}
        request = data.draw(requests())
        gangs = expected(request, [each for id, each in known.items() if id not in taken])
        solved = solver.solve(request, fleet)
        if not gangs:
            assert isinstance(solved, Refusal)
        else:
            assert isinstance(solved, Plan)
            assert (solved.site_id, solved.node_ids) == gangs[0][2:]
            assert solved.candidates == tuple(
                Candidate(ids[0], (leaves, left)) for leaves, left, _, ids in gangs[:3]
            )
            if data.draw(st.booleans()):
                fleet.take(solved)
                held.append(solved)
        if held and data.draw(st.booleans()):
            plan = held.pop(0)
            for part in plan.parts:
                fleet.free(part)
        moved = data.draw(st.sampled_from(IDS))
        if all(moved not in plan.node_ids for plan in held):
            known[moved] = replace(known[moved], leaf=data.draw(nodes(moved)).leaf)
            fleet.put(known[moved])
