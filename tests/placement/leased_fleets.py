"""Small fleets with running leases, for hypothesis; and fleets as moves leave them."""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from penstock.placement.defragmentation.moves import Lease, Move
from penstock.placement.model import Fleet, Node, Part, Request, Shape, Slot

SITES = ("site_a", "site_a", "site_a", "site_b")
TENANTS = ("tenant_a", "tenant_b")


@dataclass
class Leased:
    """Nodes, what runs on them, and who holds which slot."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.nodes.values())

    def give(self, node: Node, slot_ids: tuple[str, ...], *, free: bool) -> None:
        gpus = (replace(s, free=free) if s.id in slot_ids else s for s in node.gpus)
        self.nodes[node.id] = replace(node, gpus=tuple(gpus))

    def apply(self, move: Move, fleet: Fleet) -> None:
        """Take the new slots as the solver does, then free the old ones, as a proof would."""
        was = self.leases[move.lease.id]
        goal = self.nodes[move.to_node_id]
        fleet.hold(Part(goal.id, move.to_slot_ids))
        self.give(goal, move.to_slot_ids, free=False)
        self.give(self.nodes[was.node_id], was.slot_ids, free=True)
        fleet.put(self.nodes[was.node_id])
        moved = replace(was, node_id=goal.id, slot_ids=move.to_slot_ids)
        self.leases[was.id] = moved


def node(
    number: int, gpus: int, *, numa: int = 2, fabric: bool = True, site: str = "site_a"
) -> Node:
    id = f"node_{number:05}"
    slots = tuple(
        Slot(f"{id}_{n}", n, n * numa // gpus, True, True, f"f{n}" if fabric else "")
        for n in range(gpus)
    )
    return Node(id, site, "h100", "", Slot(f"{id}_c", 0, 0, True, True), slots)


def lease(made: Leased, node_id: str, sizes: tuple[int, ...]) -> None:
    """Leases of these sizes on the first free GPUs of the node."""
    for size in sizes:
        here = made.nodes[node_id]
        mine = tuple(slot.id for slot in here.usable_gpus[:size])
        made.give(here, mine, free=False)
        id, request = f"alloc_{len(made.leases)}", Request("h100", Shape.GPU_SLICE, size)
        made.leases[id] = Lease(id, TENANTS[0], node_id, mine, request)


@st.composite
def leased(draw: st.DrawFn, nodes_max: int = 6, plain: bool = False) -> Leased:
    """With `plain`, nodes that differ only in what runs on them."""
    made = Leased()
    for number in range(draw(st.integers(2, nodes_max))):
        gpus = 4 if plain else draw(st.sampled_from((2, 4, 4, 4)))
        fresh = node(number, gpus) if plain else draw(_odd(number, gpus))
        made.nodes[fresh.id] = fresh
        if fresh.chassis.free:
            _fill(draw, made, fresh, plain)
    return made


@st.composite
def _odd(draw: st.DrawFn, number: int, gpus: int) -> Node:
    fresh = node(
        number, gpus, fabric=draw(st.sampled_from((True, True, False))), site=draw(
            st.sampled_from(SITES)
        ),
    )  # fmt: skip
    rarely = st.integers(0, 7)
    if draw(rarely) == 0:
        held = tuple(replace(slot, free=False) for slot in fresh.gpus)
        return replace(fresh, chassis=replace(fresh.chassis, free=False), gpus=held)
    if draw(rarely) == 0:
        unproven = replace(fresh.gpus[0], approved=False)
        fresh = replace(fresh, gpus=(unproven, *fresh.gpus[1:]))
    return replace(
        fresh,
        blocked="draining" if draw(rarely) == 0 else "",
        reserved_for="tenant_a" if draw(rarely) == 0 else "",
        tags=frozenset(("eu",)) if draw(rarely) == 0 else frozenset[str](),
    )


def _fill(draw: st.DrawFn, made: Leased, fresh: Node, plain: bool) -> None:
    """Leases on slots in any order, some slots held by what may not move."""
    order = draw(st.permutations([slot.id for slot in fresh.gpus]))
    left = draw(st.integers(0, len(order)))
    taken = order[:left]
    while taken:
        size = min(len(taken), draw(st.integers(1, 3)))
        mine, taken = tuple(taken[:size]), taken[size:]
        made.give(made.nodes[fresh.id], mine, free=False)
        if plain or draw(st.integers(0, 7)):
            id = f"alloc_{len(made.leases)}"
            tenant = draw(st.sampled_from(TENANTS))
            request = Request("h100", Shape.GPU_SLICE, size, tenant=tenant)
            if not plain and draw(st.integers(0, 9)) == 0:
                request = replace(request, apart_from=("node_00000",))
            if not plain and draw(st.integers(0, 9)) == 0:
                request = replace(request, residency=("eu",))
            made.leases[id] = Lease(id, tenant, fresh.id, mine, request)
