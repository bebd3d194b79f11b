"""The backlog's policy, by example: turns, reservations, backfill, and who blocks no one."""

import pytest

from penstock.placement.line import estimates, heads, turns
from penstock.placement.line.waiting import Holdings, Waiting, Why
from penstock.placement.requests import Request

from .backlog_worlds import START, World, ids, metal, minutes, node, slice_of, waits

ONE = slice_of(1)


def order(
    waiting: list[Waiting], held: dict[str, int] | None = None, **weights: float
) -> list[str]:
    """The order in which all would be placed."""
    holdings = Holdings(dict(held or {}), weights)
    found: list[str] = []
    for each in turns.order(waiting, holdings):
        found.append(each.id)
        holdings.add(each.tenant, each.gpus)
    return found


def test_high_priority_goes_first_whoever_holds_more() -> None:
    waiting = [waits("low", ONE, "b", priority=10), waits("high", ONE, "a", priority=90)]
    assert order(waiting, {"a": 100}) == ["high", "low"]


def test_the_tenant_with_the_smallest_share_goes_first_and_what_it_gets_counts_at_once() -> None:
    waiting = [waits(f"{tenant}{n}", ONE, tenant, at=n) for tenant in "ab" for n in range(3)]
    assert order(waiting, {"a": 1}) == ["b0", "a0", "b1", "a1", "b2", "a2"]


def test_a_tenant_of_twice_the_weight_gets_twice_as_much() -> None:
    waiting = [waits(f"{tenant}{n}", ONE, tenant, at=n) for tenant in "ab" for n in range(4)]
    first_six = order(waiting, a=2.0)[:6]
    assert sum(id.startswith("a") for id in first_six) == 4


def test_of_one_tenant_the_oldest_goes_first_and_of_the_same_age_the_first_given() -> None:
    waiting = [waits("c", ONE, at=2), waits("z", ONE, at=1), waits("b", ONE, at=1)]
    assert order(waiting) == ["z", "b", "c"]


def test_a_head_keeps_its_turn_within_its_priority_and_no_further() -> None:
    head = Waiting("head", "a", 50, START + minutes(9), ONE, kept=("n1",))
    others = [waits("old", ONE, "b"), waits("urgent", ONE, "b", priority=51)]
    assert order([*others, head], {"a": 100}) == ["urgent", "head", "old"]


def test_what_is_kept_for_the_head_is_closed_to_those_behind_it() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("l1", ONE, on="n1")
    world.hold("l2", metal(), on="n2")
    world.add(waits("head", metal()), waits("small", ONE, at=1), waits("late", ONE, "b", at=2))
    decided = world.round()
    assert ids(decided) == ([], ["head", "small", "late"])
    assert decided.staying[0].kept is not None
    assert decided.staying[0].kept.nodes == ("n1",), "one GPU is missing there, four on n2"
    assert [stays.why for stays in decided.staying] == [Why.ROOM, Why.TURN, Why.TURN]
    world.end("l2")
    assert world.placed() == ["head", "late", "small"], "the head goes wherever it fits sooner"


def test_others_are_placed_outside_of_what_is_kept() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("l1", ONE, on="n1")
    world.hold("l2", slice_of(2), on="n2")
    world.add(waits("head", metal()), waits("pair", slice_of(2), at=1), waits("one", ONE, at=2))
    assert world.placed() == ["pair"]
    assert world.leases["pair"].parts[0].node_id == "n2"
    world.end("l1")
    assert world.placed() == ["head"]
    world.end("l2")
    assert world.placed() == ["one"]


def test_what_comes_free_on_a_kept_node_stays_free_for_the_head() -> None:
    world = World([node("n1")])
    for n in range(4):
        world.hold(f"l{n}", ONE)
    world.add(waits("head", metal()), waits("small", ONE, "b", at=1))
    for n in range(4):
        assert world.placed() == []
        world.end(f"l{n}")
    assert world.placed() == ["head"]


def test_a_node_stays_kept_though_another_comes_nearer() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("l1", slice_of(3), on="n1")
    world.hold("l2", metal(), on="n2")
    world.add(waits("head", metal()))
    world.round()
    assert world.waiting["head"].kept == ("n1",)
    world.end("l2")
    world.hold("l3", ONE, on="n2")
    world.add(waits("pair", slice_of(2), "b", at=1))
    assert world.placed() == ["pair"], "n2 lacks less now, and is open all the same"
    assert world.waiting["head"].kept == ("n1",)


def test_a_kept_node_that_is_drained_is_kept_no_longer() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("l1", slice_of(1))
    world.hold("l2", metal())
    world.add(waits("head", metal()))
    world.round()
    assert world.waiting["head"].kept == ("n1",)
    world.fleet.put(node("n1", blocked="draining"))
    world.round()
    assert world.waiting["head"].kept == ("n2",)


def test_the_node_whose_end_is_known_is_kept_rather_than_the_one_that_lacks_less() -> None:
    world = World([node("n1"), node("n2")])
    world.hold("l1", slice_of(1))
    world.hold("l2", metal(), ends=30)
    world.add(waits("head", metal()))
    kept = world.round().staying[0].kept
    assert kept is not None
    assert (kept.nodes, kept.at) == (("n2",), START + minutes(30))


@pytest.mark.parametrize(("ends_by", "goes"), [(29, True), (30, True), (31, False), (None, False)])
def test_only_who_certainly_ends_before_may_use_what_is_kept(
    ends_by: float | None, goes: bool
) -> None:
    world = World([node("n1")])
    world.hold("l1", slice_of(2), ends=30)
    world.add(waits("head", metal()), waits("small", ONE, at=1, ends_by=ends_by))
    assert (world.placed() == ["small"]) is goes


def test_each_family_has_a_head_of_its_own() -> None:
    world = World([node("n1"), node("n2", family="l40s")])
    for family in ("h100", "l40s"):
        world.hold(f"l.{family}", slice_of(1, family))
        world.add(waits(f"head.{family}", metal(4, family)))
    world.add(waits("small", slice_of(1, "l40s"), at=1))
    decided = world.round()
    assert [bool(stays.kept) for stays in decided.staying] == [True, True, False]


def two_sites() -> World:
    """At each site a node of which three GPUs are free."""
    world = World([node("a1", site="a"), node("b1", site="b")])
    for id in ("a1", "b1"):
        world.hold(f"l.{id}", ONE, on=id)
    return world


def test_heads_that_could_use_no_common_site_each_have_a_node_kept() -> None:
    world = two_sites()
    world.add(waits("at.a", metal(site_id="a")), waits("at.b", metal(site_id="b"), at=1))
    world.add(waits("new", slice_of(1, site_id="b"), "c", at=2, stays=False))
    decided = world.round()
    assert ids(decided) == ([], ["at.a", "at.b", "new"])
    assert (world.waiting["at.a"].kept, world.waiting["at.b"].kept) == (("a1",), ("b1",))
    world.end("l.b1")
    assert world.placed() == ["at.b"], "it waited for nobody but the lease that stood there"


def test_who_could_use_a_site_for_which_no_head_speaks_has_nodes_kept_there() -> None:
    world = two_sites()
    world.add(waits("at.b", metal(site_id="b")), waits("any", metal(), at=1))
    world.round()
    assert (world.waiting["at.b"].kept, world.waiting["any"].kept) == (("b1",), ("a1",))
    world.add(waits("at.a", metal(site_id="a"), at=2))
    world.round()
    assert not world.waiting["at.a"].kept, "two heads speak for its site already"


def test_a_head_takes_nothing_that_is_kept_for_another_of_its_priority() -> None:
    """The younger one was a head first: the older one leaves its node to it."""
    world = two_sites()
    world.hold("rest", slice_of(3), on="a1")
    world.add(waits("at.b", metal(site_id="b"), at=1))
    world.round()
    world.add(waits("any", slice_of(4)))
    assert world.placed() == []
    assert (world.waiting["at.b"].kept, world.waiting["any"].kept) == (("b1",), ("a1",))
    world.end("l.b1")
    assert world.placed() == ["at.b"]


def test_a_family_has_no_more_heads_than_a_round_can_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEADS_MAX", 1)
    world = two_sites()
    world.add(waits("at.a", metal(site_id="a")), waits("at.b", metal(site_id="b"), at=1))
    world.round()
    assert not world.waiting["at.b"].kept


def test_what_is_kept_is_a_rule_of_its_own() -> None:
    world = two_sites()
    world.add(waits("head", metal(site_id="a")), waits("two", slice_of(2), at=1))
    (placed,) = world.round().placed
    assert (placed.request.kept, placed.request.apart_from) == (("a1",), ())
    assert placed.plan.rejections["kept"] == 1
    assert placed.plan.rejections["apart"] == 0


@pytest.mark.parametrize("named", ["first", "second"])
def test_who_must_stay_apart_does_whichever_is_placed_first(named: str) -> None:
    other = {"first": "second", "second": "first"}[named]
    world = World([node("n1"), node("n2", blocked="draining")])
    world.add(waits(other, ONE), waits(named, ONE, at=1, apart=(other,)))
    decided = world.round()
    assert ids(decided) == ([other], [named])
    assert decided.staying[0].refusal is not None
    assert decided.staying[0].refusal.rejections["apart"] == 1


def test_who_must_stay_apart_is_told_a_time_at_which_they_are_apart() -> None:
    world = World([node("n1", 1), node("n2", 2)])
    world.hold("l1", ONE, on="n1", ends=10)
    world.hold("l2", slice_of(2), on="n2", ends=5)
    world.add(waits("b", ONE), waits("a", ONE, at=1, apart=("b",)))
    decided = world.round()
    leases = list(world.leases.values())
    told = estimates.estimate(decided.staying, world.fleet, world.holdings(), leases, world.now)
    assert [each.at for each in told] == [START + minutes(5), START + minutes(10)]


@pytest.mark.parametrize(
    "never", [slice_of(9), metal(5), slice_of(1, "b200"), slice_of(1, sites=())]
)
def test_one_that_can_never_fit_blocks_no_one(never: Request) -> None:
    world = World([node("n1")])
    world.hold("l1", ONE)
    world.add(waits("never", never, priority=100), waits("head", metal(), at=1))
    world.add(waits("small", ONE, at=2))
    decided = world.round()
    assert ids(decided) == ([], ["never", "head", "small"])
    assert [bool(stays.kept) for stays in decided.staying] == [False, True, False]
    assert decided.staying[0].why is Why.NEVER


class NothingForA:
    def lacks(self, waiting: Waiting) -> Why | None:
        return Why.QUOTA if waiting.tenant == "a" else None

    def take(self, waiting: Waiting) -> None:
        assert waiting.tenant != "a"


def test_one_without_quota_blocks_no_one() -> None:
    world = World([node("n1")])
    world.hold("l1", ONE)
    world.add(waits("over", metal(), "a", priority=100), waits("small", ONE, "b"))
    decided = world.round(NothingForA())
    assert ids(decided) == (["small"], ["over"])
    assert (decided.staying[0].why, decided.staying[0].kept) == (Why.QUOTA, None)


def test_one_that_does_not_wait_keeps_nothing_but_minds_what_is_kept() -> None:
    world = World([node("n1")])
    world.hold("l1", ONE)
    world.add(waits("passing", metal(), priority=90, stays=False))
    world.add(waits("small", ONE, "b"))
    assert world.placed() == ["small"]
    world.add(waits("head", metal()), waits("now", ONE, "c", at=3, stays=False))
    assert world.placed() == []
    assert list(world.waiting) == ["head"]


def test_a_gang_is_kept_nodes_of_one_site() -> None:
    world = World([node("n1"), node("n2"), node("n3")])
    world.hold("l1", ONE)
    world.hold("l2", metal())
    world.add(waits("gang", metal(nodes=2)), waits("small", ONE, at=1))
    decided = world.round()
    assert world.waiting["gang"].kept == ("n1", "n3") or world.waiting["gang"].kept == ("n3", "n1")
    assert ids(decided) == ([], ["gang", "small"])
    world.end("l1")
    assert world.placed() == ["gang"]
