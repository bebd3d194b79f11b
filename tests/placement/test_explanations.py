"""What else is said of a refusal: the nodes that come near, and the changes that fit."""

from dataclasses import replace

from hypothesis import given

from penstock.placement import solver
from penstock.placement.model import Alternative, Fleet, Leeway, Node, Plan, Request, Shape, Slot
from penstock.placement.requests import Overlay

from . import engine_fleets

SLICE = Request("h100", Shape.GPU_SLICE, 2)
METAL = Request("h100", Shape.BAREMETAL, 4)
COUNTS = Leeway((1, 2, 4))


def node(id: str, gpus: int = 4, held: int = 0, site_id: str = "site_a") -> Node:
    def slot(name: str, index: int) -> Slot:
        return Slot(f"{id}_{name}", index, index // 2, approved=True, free=index >= held)

    chassis = replace(slot("c", 0), free=True)
    return Node(id, site_id, "h100", "", chassis, tuple(slot(str(n), n) for n in range(gpus)))


def said(request: Request, leeway: Leeway, *nodes: Node) -> list[tuple[str, str, str | None]]:
    changes = solver.explain(request, Fleet(nodes), leeway).changes
    return [(change.kind, change.what, change.node_id) for change in changes]


def near(request: Request, leeway: Leeway, *nodes: Node) -> list[tuple[str, str]]:
    return [(miss.node_id, miss.why) for miss in solver.explain(request, Fleet(nodes), leeway).near]


def test_the_near_misses_are_the_blocked_node_and_those_that_lack_the_least() -> None:
    blocked = replace(node("blocked"), blocked="draining: new fans")
    fleet = Fleet([blocked, node("full", held=4), node("almost", held=3)])
    misses = solver.explain(SLICE, fleet, COUNTS).near
    assert [(miss.node_id, miss.rule, miss.missing) for miss in misses] == [
        ("blocked", "schedulable", 0),
        ("almost", "free_enough", 1),
        ("full", "free_enough", 2),
    ]
    assert [miss.why for miss in misses] == [
        "draining: new fans",
        "3 of its 4 GPUs are leased; 2 are needed",
        "4 of its 4 GPUs are leased; 2 are needed",
    ]
    assert {miss.site_id for miss in misses} == {"site_a"}


def test_whole_nodes_come_near_by_what_is_leased_of_them() -> None:
    nodes = [node(f"n{held}", held=held) for held in (4, 1, 3, 2)]
    assert near(METAL, COUNTS, *nodes, node("large", 8, held=1)) == [
        ("n1", "1 of its 4 GPUs is leased"),
        ("n2", "2 of its 4 GPUs are leased"),
        ("n3", "3 of its 4 GPUs are leased"),
    ]


def test_a_node_whose_slots_are_not_approved_says_so() -> None:
    raw = node("n", held=1)
    half = replace(raw, gpus=(*raw.gpus[:2], *(replace(s, approved=False) for s in raw.gpus[2:])))
    why = "1 of its 4 GPUs is leased and 2 are not approved"
    assert near(METAL, COUNTS, half) == [("n", why)]
    bare = replace(node("m"), chassis=replace(node("m").chassis, approved=False))
    assert near(METAL, COUNTS, bare) == [("m", "its chassis is not approved")]


def test_a_node_to_stay_apart_from_comes_near() -> None:
    why = "it holds what this should stay apart from"
    apart = replace(SLICE, apart_from=("n",))
    assert near(apart, COUNTS, node("n")) == [("n", why)]
    beside = ("not_apart", "beside what it should stay apart from", "n")
    assert said(apart, COUNTS, node("n")) == [beside]


def test_no_kind_of_change_crowds_out_another() -> None:
    """Many sites, sizes and families fit; each kind is named, with its best."""
    here = replace(SLICE, gpus=4, site_id="site_a")
    others = [Alternative(f"{name}.slice", name) for name in ("a10", "a100", "l40s")]
    leeway = Leeway((1, 2, 3, 4), tuple(others))
    sites = [node(f"n_{site}", site_id=site) for site in ("site_b", "site_c", "site_d")]
    families = [replace(node(f"m_{o.family}"), family=o.family) for o in others]
    assert said(here, leeway, node("here", held=2), *sites, *families) == [
        ("another_site", "at site site_b", "n_site_b"),
        ("another_site", "at site site_c", "n_site_c"),
        ("fewer_gpus", "with 2 GPUs", "here"),
        ("fewer_gpus", "with 1 GPU", "here"),
        ("another_family", "with a10 GPUs, as a10.slice", "m_a10"),
        ("another_family", "with a100 GPUs, as a100.slice", "m_a100"),
    ]


def test_another_family_is_named_only_if_it_may_be_asked_for() -> None:
    other = replace(node("other", site_id="site_b"), family="l40s")
    here = replace(SLICE, site_id="site_a")
    full = node("full", held=4)
    assert said(here, COUNTS, full, other) == []
    leeway = Leeway((2,), (Alternative("l40s.slice", "l40s"),))
    what = "with l40s GPUs, as l40s.slice at site site_b"
    assert said(here, leeway, full, other) == [("another_family", what, "other")]
    (change,) = solver.explain(here, Fleet([full, other]), leeway).changes
    assert (change.sku, change.site_id) == ("l40s.slice", "site_b")
    assert (change.request.family, change.request.site_id) == ("l40s", "site_b")
    assert said(replace(here, families_allowed=("h100",)), leeway, full, other) == []


def test_fewer_gpus_are_named_elsewhere_only_if_more_fit_there() -> None:
    here = replace(SLICE, gpus=4, site_id="site_a")
    nodes = (node("here", held=3), node("there", held=2, site_id="site_b"))
    assert said(here, COUNTS, *nodes) == [
        ("fewer_gpus", "with 1 GPU", "here"),
        ("fewer_gpus", "with 2 GPUs at site site_b", "there"),
    ]


def test_other_sites_are_told_of_and_not_named_to_a_tenant_that_may_not_use_them() -> None:
    bound = replace(SLICE, tenant="t", sites=("site_a",))
    nodes = (node("full", held=4), node("secret", site_id="site_b"))
    policy = Overlay(tenant="t", sites=("site_a",))
    what = "at other sites, if your tenant may use them"
    assert said(bound, Leeway((2,), (), policy), *nodes) == [("spanning_sites", what, None)]
    told = solver.explain(bound, Fleet(nodes), Leeway((2,), (), policy))
    assert "secret" not in repr(told.near)
    assert told.changes[0].site_id is None
    platform = solver.explain(bound, Fleet(nodes), Leeway((2,), (), policy, sees_all=True))
    assert [miss.node_id for miss in platform.near] == ["secret", "full"]
    assert (platform.changes[0].site_id, platform.changes[0].node_id) == ("site_b", "secret")


def test_nodes_that_are_reserved_for_others_or_that_policy_excludes_are_not_named() -> None:
    reserved = replace(node("reserved"), reserved_for="other")
    foreign = node("foreign", site_id="site_b")
    request = replace(SLICE, tenant="t", residency=("eu",))
    policy = Overlay(tenant="t", residency=("eu",))
    assert near(request, Leeway((2,), (), policy), reserved, foreign) == []
    own = Leeway((2,), (), Overlay(tenant="t"))
    assert near(request, own, reserved, foreign) == [("foreign", "resident keeps it out")]


def test_a_gang_is_told_how_many_nodes_fit_at_one_site() -> None:
    """Spanning several is no choice: a gang is of one site."""
    gang = replace(METAL, nodes=6)
    at_a = [node(f"a{n}") for n in range(5)]
    at_b = [node(f"b{n}", site_id="site_b") for n in range(5)]
    held = node("b5", held=1, site_id="site_b")
    assert said(gang, Leeway((4,)), *at_a, *at_b, held) == [("fewer_nodes", "with 5 nodes", "a0")]
    here = replace(gang, site_id="site_b")
    full = [node(f"f{n}", held=1, site_id="site_b") for n in range(3)]
    assert said(here, Leeway((4,)), *at_a, *at_b[:3], *full) == [
        ("fewer_nodes", "with 3 nodes", "b0"),
        ("fewer_nodes", "with 5 nodes at site site_a", "a0"),
    ]


def test_a_ceiling_can_be_raised_to_the_tenants() -> None:
    dear = replace(node("dear"), price_micros_per_gpu_hour=7)
    cheap = replace(node("cheap", held=4), price_micros_per_gpu_hour=1)
    request = replace(SLICE, price_micros_max=5)
    assert said(request, COUNTS, dear, cheap) == [("higher_price", "at any price", "dear")]
    tenants = Leeway((2,), (), Overlay(price_micros_max=8))
    what = "at up to 8 micros a GPU-hour"
    assert said(request, tenants, dear, cheap) == [("higher_price", what, "dear")]
    assert said(request, Leeway((2,), (), Overlay(price_micros_max=5)), dear, cheap) == []


@given(engine_fleets.fleets(), engine_fleets.requests() | engine_fleets.gangs())
def test_every_change_that_is_named_fits(fleet: list[Node], request: Request) -> None:
    known = Fleet(fleet)
    if isinstance(solver.solve(request, known), Plan):
        return
    leeway = Leeway((1, 2), (Alternative("l40s.any", "l40s"),), Overlay(tenant=request.tenant))
    for change in solver.explain(request, known, leeway).changes:
        plan = solver.solve(change.request, known)
        assert isinstance(plan, Plan)
        if change.kind != "spanning_sites":
            assert (plan.site_id, plan.node_id) == (change.site_id, change.node_id)
