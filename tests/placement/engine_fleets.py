"""Small fleets and requests of every kind, for hypothesis; and nodes as a plan leaves them."""

from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from penstock.placement.model import Node, Plan, Request, Shape, Share, Slot, Strategy
from penstock.placement.requests import Overlay

FAMILIES = ("h100", "l40s")
SITES = ("site_a", "site_b")
TENANTS = ("", "tenant_a", "tenant_b")
TAGS = ("eu", "iso")
T = TypeVar("T")


@st.composite
def slots(draw: st.DrawFn, id: str, index: int, divisible: bool) -> Slot:
    return Slot(
        id=id,
        index=index,
        numa_node=draw(st.integers(0, 1)),
        approved=draw(_rarely(True, True, False)),
        free=draw(_rarely(True, False)),
        fabric=draw(st.sampled_from(("", "a", "b"))),
        milli_free=draw(st.sampled_from((0, 190, 500, 1000))) if divisible else 1000,
    )


@st.composite
def nodes(draw: st.DrawFn, number: int) -> Node:
    divisible = draw(st.booleans())
    gpus = draw(st.sampled_from((1, 2, 2, 3)))
    return Node(
        id=f"node_{number}",
        site_id=draw(st.sampled_from(SITES)),
        family=draw(_rarely("h100", "l40s", "l40s")),
        blocked=draw(_rarely("", "draining")),
        chassis=draw(slots(f"slot_{number}_c", 0, False)),
        gpus=tuple(draw(slots(f"slot_{number}_{n}", n, divisible)) for n in range(gpus)),
        leaf=draw(st.sampled_from(("", "leaf_1", "leaf_2"))),
        tags=draw(_rarely(frozenset(TAGS), frozenset(("eu",)), frozenset[str]())),
        reserved_for=draw(_rarely("", *TENANTS)),
        price_micros_per_gpu_hour=draw(st.sampled_from((0, 5))),
        divisible=divisible,
        cpu_milli_free=draw(st.sampled_from((500, 4000, 16000))),
        memory_mib_free=draw(st.sampled_from((500, 4096, 65536))),
    )


@st.composite
def fleets(draw: st.DrawFn) -> list[Node]:
    return [draw(nodes(number)) for number in range(draw(st.integers(3, 9)))]


@st.composite
def overlays(draw: st.DrawFn) -> Overlay:
    """Mostly none: each that is there keeps nodes out."""
    return Overlay(
        tenant=draw(st.sampled_from(TENANTS)),
        sites=draw(_rarely(None, SITES, ("site_a",))),
        families_allowed=draw(_rarely(None, ("h100",))),
        residency=draw(_rarely((), ("eu",), TAGS)),
        price_micros_max=draw(_rarely(None, 0, 5)),
        apart_from=draw(_rarely((), ("node_0",), ("node_0", "node_1", "nowhere"))),
        kept=draw(_rarely((), ("node_1", "node_2"))),
        strategy=draw(st.sampled_from(Strategy)),
    )


def _rarely(usual: T, *others: T) -> st.SearchStrategy[T]:
    return st.sampled_from((*[usual] * 5, *others))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    shape = draw(st.sampled_from(Shape))
    asked = Request(draw(st.sampled_from(FAMILIES)), shape, draw(st.integers(1, 3)))
    return replace(asked, site_id=draw(_rarely(None, *SITES)), **vars(draw(overlays())))


@st.composite
def gangs(draw: st.DrawFn) -> Request:
    asked = Request("h100", Shape.BAREMETAL, draw(st.integers(1, 2)), nodes=draw(st.integers(2, 3)))
    return replace(asked, site_id=draw(_rarely(None, *SITES)), **vars(draw(overlays())))


@st.composite
def shares(draw: st.DrawFn) -> Share:
    sizes = ((0, 0), (1, 100), (1, 500), (1, 810), (1, 1000), (2, 1000))
    gpus, milli = draw(st.sampled_from(sizes))
    asked = Share(
        families=draw(st.sampled_from(((), ("h100",), FAMILIES))),
        gpus=gpus,
        milli=milli,
        cpu_milli=draw(st.sampled_from((0, 1000, 8000))),
        memory_mib=draw(st.sampled_from((0, 1024, 8192))),
        site_id=draw(_rarely(None, *SITES)),
    )
    return replace(asked, **vars(draw(overlays())))


def after(node: Node, plan: Plan) -> Node:
    """The node once the plan's slots are held."""
    part = next((part for part in plan.parts if part.node_id == node.id), None)
    if part is None:
        return node

    def held(slot: Slot) -> Slot:
        if slot.id not in part.slot_ids:
            return slot
        if node.divisible:
            return replace(slot, milli_free=slot.milli_free - part.milli)
        return replace(slot, free=False)

    return replace(
        node,
        chassis=held(node.chassis),
        gpus=tuple(held(slot) for slot in node.gpus),
        cpu_milli_free=node.cpu_milli_free - part.cpu_milli,
        memory_mib_free=node.memory_mib_free - part.memory_mib,
    )
