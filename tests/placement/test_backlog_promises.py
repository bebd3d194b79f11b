"""What the backlog promises, whatever comes: order, no double booking, and heads never delayed."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.placement import solver
from penstock.placement.line.waiting import Round, Staying, Waiting, Why
from penstock.placement.model import Node, Plan, Request

from .backlog_worlds import START, World, metal, minutes, node, only, slice_of, slots, waits

MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
REQUESTS = st.sampled_from(
    (slice_of(1), slice_of(1), slice_of(2), slice_of(3), metal(), metal(nodes=2))
)
NODES = st.integers(1, 4).map(lambda count: [node(f"n{n}") for n in range(count)])


@st.composite
def waitings(draw: st.DrawFn, prefix: str = "w", most: int = 8, top: int = 2) -> list[Waiting]:
    return [
        waits(
            f"{prefix}{n}", draw(REQUESTS), draw(st.sampled_from("abc")),
            priority=draw(st.integers(0, top)), at=draw(st.integers(0, 3)),
        )
        for n in range(draw(st.integers(1, most)))
    ]  # fmt: skip


@st.composite
def worlds(draw: st.DrawFn, ending: Callable[[int], float | None] = lambda _: None) -> World:
    """A fleet that is mostly full: one node after the other, in pieces."""
    world = World(draw(NODES))
    for number in range(draw(st.integers(1, 10))):
        request = draw(st.sampled_from((slice_of(1), slice_of(1), slice_of(2), metal())))
        if isinstance(solver.solve(request, world.fleet), Plan):
            tenant = draw(st.sampled_from("abcx"))
            world.hold(f"l{number}", request, tenant, ends=ending(draw(st.integers(1, 60))))
    return world


@MANY
@given(worlds(), waitings())
def test_everyone_is_placed_once_or_stays_and_no_slot_is_taken_twice(
    world: World, waiting: list[Waiting]
) -> None:
    held = {slot for lease in world.leases.values() for slot in slots(lease.parts)}
    world.add(*waiting)
    decided = world.round()
    seen = [p.waiting.id for p in decided.placed] + [s.waiting.id for s in decided.staying]
    assert sorted(seen) == sorted(each.id for each in waiting)
    taken = [slot for placed in decided.placed for slot in slots(placed.plan.parts)]
    assert len(set(taken)) == len(taken)
    assert not held.intersection(taken)
    for placed in decided.placed:
        gpus = [id for id in slots(placed.plan.parts) if not id.endswith(".c")]
        assert len(gpus) == placed.waiting.gpus


@MANY
@given(worlds(), waitings(), REQUESTS)
def test_of_equal_requests_none_goes_before_its_turn(
    world: World, waiting: list[Waiting], request: Request
) -> None:
    waiting = [replace(each, request=request) for each in waiting]
    shares = world.holdings()
    world.add(*waiting)
    decided = world.round()
    for placed in decided.placed:
        shares.add(placed.waiting.tenant, placed.waiting.gpus)
    for placed in (p.waiting for p in decided.placed):
        for stays in (s.waiting for s in decided.staying):
            assert placed.priority >= stays.priority
            if placed.priority == stays.priority and placed.tenant == stays.tenant:
                assert placed.queued_at <= stays.queued_at
            elif placed.priority == stays.priority:
                before = shares.share(placed.tenant) - placed.gpus
                assert before <= shares.share(stays.tenant)


@MANY
@given(worlds(), st.data())
def test_a_head_is_placed_as_soon_as_its_nodes_would_have_room_without_backfill(
    world: World, data: st.DataObject
) -> None:
    """The other world has no one behind the head. Leases end in any order, others keep coming."""
    nodes = list(world.nodes)
    world.add(*data.draw(waitings()))
    decided = world.round()
    head = _head(decided)
    if head is None:
        return
    kept = world.waiting[head.id].kept
    alone = _without_those_behind(world, head, nodes)
    before = sorted(world.leases.keys() & alone.leases.keys())
    for step, id in enumerate(data.draw(st.permutations(before))):
        # Some of those placed behind it end as well.
        others = sorted(world.leases.keys() - alone.leases.keys() - {head.id})
        for other in data.draw(st.lists(st.sampled_from(others), unique=True)) if others else ():
            world.end(other)
        world.end(id)
        alone.end(id)
        arriving = data.draw(waitings(f"s{step}.", most=3, top=head.priority))
        world.add(*(replace(each, queued_at=START) for each in arriving))
        world.round()
        room = isinstance(solver.solve(only(head.request, nodes, kept), alone.fleet), Plan)
        if room:
            assert head.id in world.started, f"{kept} have room for it"
            return
        if head.id in world.started:
            return
        assert world.waiting[head.id].kept == kept


def _head(decided: Round) -> Waiting | None:
    """The first in line. Were all leases over it would fit, so there are nodes to be kept."""
    line = _in_line(decided)
    assert not line or line[0].kept
    return line[0].waiting if line else None


def _without_those_behind(world: World, head: Waiting, nodes: list[Node]) -> World:
    """As it would be if nobody had been placed after the head had its turn."""
    alone = World(nodes)
    turn = world.turns.index(head.id) if head.id in world.turns else 0
    behind = set(world.turns[turn:])
    for lease in world.leases.values():
        if lease.id not in behind:
            for part in lease.parts:
                alone.fleet.take(Plan("", (part,), (), {}))
            alone.leases[lease.id] = lease
    return alone


SITES = ("a", "b", "c")
ANYWHERE = st.sampled_from((None, None, *SITES))


@st.composite
def wide_worlds(draw: st.DrawFn) -> World:
    """Several sites, each mostly full."""
    world = World([node(f"{site}{n}", site=site) for site in SITES for n in range(2)])
    for number in range(draw(st.integers(4, 16))):
        request = draw(st.sampled_from((slice_of(1), slice_of(2), metal())))
        request = replace(request, site_id=draw(ANYWHERE))
        if isinstance(solver.solve(request, world.fleet), Plan):
            world.hold(f"l{number}", request, draw(st.sampled_from("abcx")))
    return world


@st.composite
def spread_out(draw: st.DrawFn, waiting: st.SearchStrategy[list[Waiting]]) -> list[Waiting]:
    """Each at a site of its own choice."""
    drawn = draw(waiting)
    return [replace(w, request=replace(w.request, site_id=draw(ANYWHERE))) for w in drawn]


@MANY
@given(wide_worlds(), st.data())
def test_every_head_of_the_highest_priority_is_placed_as_soon_as_its_nodes_have_room(
    world: World, data: st.DataObject
) -> None:
    """As the first head is; only one of higher priority may come before any of them."""
    nodes = list(world.nodes)
    world.add(*data.draw(spread_out(waitings(top=1))))
    line = _in_line(world.round())
    most = max((stays.waiting.priority for stays in line), default=0)
    heads = [s for s in line if s.kept and s.waiting.priority == most]
    if not heads:
        return
    kept = {stays.waiting.id: world.waiting[stays.waiting.id].kept for stays in heads}
    every = [node for nodes in kept.values() for node in nodes]
    assert len(set(every)) == len(every), "no node is kept for two"
    head = data.draw(st.sampled_from(heads)).waiting
    alone = _without_those_behind(world, head, nodes)
    for step, id in enumerate(data.draw(st.permutations(sorted(alone.leases)))):
        world.end(id)
        alone.end(id)
        arriving = data.draw(spread_out(waitings(f"s{step}.", most=3, top=most)))
        world.add(*(replace(each, queued_at=START) for each in arriving))
        world.round()
        room = isinstance(solver.solve(only(head.request, nodes, kept[head.id]), alone.fleet), Plan)
        if room:
            assert head.id in world.started, f"{kept[head.id]} have room for it"
        if head.id in world.started:
            return
        assert world.waiting[head.id].kept == kept[head.id]


@MANY
@given(wide_worlds(), spread_out(waitings(most=12)))
def test_whoever_stays_could_use_only_sites_for_which_a_head_speaks(
    world: World, waiting: list[Waiting]
) -> None:
    world.add(*waiting)
    line = _in_line(world.round())
    spoken: set[str] = set()
    for stays in line:
        sites = {stays.waiting.request.site_id} if stays.waiting.request.site_id else set(SITES)
        if stays.waiting.gpus > 4:
            sites &= {site for site in SITES if len(world.at(site)) >= stays.waiting.request.nodes}
        if stays.kept:
            spoken |= sites
        assert sites <= spoken


@MANY
@given(wide_worlds(), spread_out(waitings(most=6)), st.data())
def test_who_must_stay_apart_shares_no_node(
    world: World, waiting: list[Waiting], data: st.DataObject
) -> None:
    waiting = [w for w in waiting if w.request.nodes == 1]
    names = [w.id for w in waiting]
    pairs = {
        w.id: tuple(set(data.draw(st.lists(st.sampled_from(names), max_size=2))) - {w.id})
        for w in waiting
    }
    world.add(*(replace(w, apart=pairs[w.id]) for w in waiting))
    where = {p.waiting.id: set(p.plan.node_ids) for p in world.round().placed}
    for id, others in pairs.items():
        for other in others:
            assert not where.get(id, set()) & where.get(other, set())


@MANY
@given(worlds(lambda end: float(end)), waitings(most=6), st.data())
def test_if_all_ends_are_certain_a_head_starts_no_later_than_without_backfill(
    world: World, waiting: list[Waiting], data: st.DataObject
) -> None:
    lengths = st.integers(1, 90)
    waiting = [replace(w, ends_by=START + minutes(data.draw(lengths))) for w in waiting]
    world.certain = True
    world.add(*waiting)
    decided = world.round()
    head = _head(decided)
    if head is None:
        return
    alone = _without_those_behind(world, head, list(world.nodes))
    alone.certain = True
    alone.add(head)
    for each in (alone, world):
        _run_until(each, head.id)
    assert head.id in alone.started
    assert world.started[head.id] <= alone.started[head.id]


def _run_until(world: World, id: str) -> None:
    while id not in world.started and world.leases:
        soonest = min(lease.ends_at for lease in world.leases.values() if lease.ends_at)
        world.now = max(world.now, soonest)
        for lease in [each for each in world.leases.values() if each.ends_at == soonest]:
            world.end(lease.id)
        # Whoever would have to be gone by now is not started any more.
        for late in [w for w in world.waiting.values() if w.ends_by and w.ends_by <= world.now]:
            if late.id != id:
                del world.waiting[late.id]
        world.round()


class NothingFor:
    def __init__(self, tenant: str) -> None:
        self.tenant = tenant

    def lacks(self, waiting: Waiting) -> Why | None:
        return Why.QUOTA if waiting.tenant == self.tenant else None

    def take(self, waiting: Waiting) -> None:
        assert waiting.tenant != self.tenant


@MANY
@given(worlds(), waitings(), st.data())
def test_without_those_that_cannot_go_the_others_are_decided_alike(
    world: World, waiting: list[Waiting], data: st.DataObject
) -> None:
    never = data.draw(st.sets(st.sampled_from(waiting)))
    given_all = [replace(w, request=slice_of(9)) if w in never else w for w in waiting]
    can_go = [w for w in given_all if w.tenant != "c" and w.request != slice_of(9)]
    twin = _without_those_behind(world, waits("nobody", slice_of(1)), list(world.nodes))
    world.add(*given_all)
    twin.add(*can_go)
    decided = world.round(NothingFor("c"))
    alone = twin.round(NothingFor("c"))
    assert decided.placed == alone.placed
    assert _in_line(decided) == _in_line(alone)


def _in_line(decided: Round) -> list[Staying]:
    return [stays for stays in decided.staying if stays.why not in (Why.QUOTA, Why.NEVER)]
