"""Which of the nodes that fit the engine prefers, and why."""

from dataclasses import replace

from hypothesis import given

from penstock.placement import solver
from penstock.placement.model import (
    Fleet,
    Node,
    Plan,
    Request,
    Shape,
    Share,
    Slot,
    Strategy,
    Weights,
    Workload,
)

from . import engine_fleets

PAIR = Request("h100", Shape.GPU_SLICE, 2)


def node(id: str, free: str = "1111", fabric: str = "", numa: str = "0011") -> Node:
    """`free` has a digit for each GPU: 1 if it is free; `fabric` names the device of each."""

    def slot(n: int) -> Slot:
        device = fabric[n] if fabric else ""
        return Slot(f"{id}_{n}", n, int(numa[n]), True, free[n] == "1", fabric=device)

    chassis = Slot(f"{id}_c", 0, 0, approved=True, free=True)
    return Node(id, "site_a", "h100", "", chassis, tuple(slot(n) for n in range(len(free))))


def divisible(id: str, family: str, cpu_milli: int, *milli: int) -> Node:
    whole = node(id, "1" * len(milli), numa="0" * len(milli))
    gpus = tuple(replace(slot, milli_free=m) for slot, m in zip(whole.gpus, milli, strict=True))
    return replace(whole, family=family, gpus=gpus, divisible=True,
                   cpu_milli_free=cpu_milli, memory_mib_free=10**6)  # fmt: skip


def placed(request: Request | Share, fleet: Fleet) -> Plan:
    plan = solver.solve(request, fleet)
    assert isinstance(plan, Plan)
    return plan


def taken(request: Request, *nodes: Node) -> list[str]:
    return list(placed(request, Fleet(nodes)).slot_ids)


def test_a_broken_node_comes_before_a_whole_one() -> None:
    assert taken(PAIR, node("a"), node("b", "1011")) == ["b_2", "b_3"]


def test_one_numa_node_comes_before_a_tighter_fit() -> None:
    assert taken(PAIR, node("a", "0110"), node("b", "0111")) == ["b_2", "b_3"]


def test_the_tightest_node_comes_first_and_of_equals_the_least_id() -> None:
    assert taken(PAIR, node("a", "0111"), node("c", "0011"), node("b", "0011")) == ["b_2", "b_3"]


def test_each_gpu_gets_a_fabric_device_of_its_own_if_it_can() -> None:
    two, four = node("a", "1111", "xxyy", "0000"), node("b", "1111", "wxyz", "0000")
    assert taken(PAIR, two) == ["a_0", "a_2"]
    assert taken(replace(PAIR, gpus=3), two, four) == ["b_0", "b_1", "b_2"]


def test_spread_prefers_the_emptiest_node() -> None:
    request = replace(PAIR, strategy=Strategy.SPREAD)
    assert taken(request, node("a", "0011"), node("b")) == ["b_0", "b_1"]


def test_a_tenants_reserved_node_is_its_own_and_comes_first() -> None:
    reserved = replace(node("a"), reserved_for="tenant_a")
    fleet = Fleet([reserved, node("b", "0011")])
    assert placed(PAIR, fleet).node_id == "b"
    assert placed(replace(PAIR, tenant="tenant_b"), fleet).node_id == "b"
    assert placed(replace(PAIR, tenant="tenant_a"), fleet).node_id == "a"


def test_of_nodes_in_the_same_state_the_cheapest_comes_first() -> None:
    dear = replace(node("a"), price_micros_per_gpu_hour=9)
    assert placed(PAIR, Fleet([dear, node("b")])).node_id == "b"


def test_a_candidate_stands_for_all_nodes_in_its_state() -> None:
    plan = placed(PAIR, Fleet([node("a"), node("b"), node("c", "0011")]))
    assert [(c.node_id, c.alike) for c in plan.candidates] == [("c", 1), ("a", 2)]


SMALL = Share((), 1, 190, 1000, 1)
LARGE = Share((), 1, 810, 1000, 1)


def test_a_small_share_fills_the_gap_that_a_large_one_left() -> None:
    fleet = Fleet([divisible("a", "t4", 9000, 1000, 190)])
    fleet.declare(Workload([(SMALL, 1), (LARGE, 9)]))
    assert placed(SMALL, fleet).slot_ids[0] == "a_1"


def test_who_can_go_anywhere_leaves_the_scarce_family_to_those_who_need_it() -> None:
    nodes = [divisible("a", "t4", 9000, 1000), divisible("b", "g2", 9000, 1000)]
    bound = replace(LARGE, families=("t4",))
    fleet = Fleet(nodes)
    fleet.declare(Workload([(LARGE, 1), (bound, 5)]))
    assert placed(LARGE, fleet).node_id == "b"


def test_cpu_heavy_work_goes_where_cpu_is_plenty() -> None:
    nodes = [divisible("a", "g2", 12_000, 1000, 1000), divisible("b", "t4", 90_000, 1000, 1000)]
    heavy = replace(LARGE, cpu_milli=8000)
    fleet = Fleet(nodes)
    fleet.declare(Workload([(replace(LARGE, cpu_milli=6000), 1)]))
    assert placed(heavy, fleet).node_id == "b"
    assert placed(Share((), 0, 0, 4000, 1), fleet).node_id == "b"


def _fragments(node: Node, workload: list[tuple[Share, int]]) -> float:
    """FGD's expected fragment of a node, straight from the paper."""
    milli = [slot.milli_free for slot in node.usable_gpus]
    total, expected = sum(milli), 0.0
    typical = [(share, count) for share, count in workload if share.gpus]
    for share, count in typical:
        able = [m for m in milli if m >= share.milli]
        runs = (
            len(able) >= share.gpus
            and node.cpu_milli_free >= share.cpu_milli
            and node.memory_mib_free >= share.memory_mib
            and (not share.families or node.family in share.families)
        )
        expected += count * (total - sum(able) if runs else total)
    return expected / sum(count for _, count in typical)


@given(engine_fleets.fleets(), engine_fleets.shares())
def test_fragments_alone_is_fragmentation_gradient_descent(fleet: list[Node], share: Share) -> None:
    """No other node and GPU would have raised the fleet's fragments by less."""
    workload = [(SMALL, 3), (LARGE, 2), (replace(LARGE, gpus=2, milli=1000), 1)]
    workload.append((replace(SMALL, families=("l40s",), cpu_milli=4000), 2))
    known = Fleet(fleet)
    known.declare(Workload(workload), Weights(starved=0.0, scarcity=0.0))
    asked = replace(share, tenant="", strategy=Strategy.PACK)
    plan = solver.solve(asked, known)
    if not isinstance(plan, Plan):
        return
    rises: list[float] = []
    for before in fleet:
        # The best that this node alone could do.
        alone = Fleet([before])
        alone.declare(Workload(workload), Weights(starved=0.0, scarcity=0.0))
        only = solver.solve(asked, alone)
        if isinstance(only, Plan):
            changed = engine_fleets.after(before, only)
            rises.append(_fragments(changed, workload) - _fragments(before, workload))
    chosen = next(node for node in fleet if node.id == plan.node_id)
    changed = engine_fleets.after(chosen, plan)
    rise = _fragments(changed, workload) - _fragments(chosen, workload)
    assert rise <= min(rises) + 1e-3
    assert rise <= min(_every_way(chosen, asked, workload)) + 1e-3


def _every_way(node: Node, share: Share, workload: list[tuple[Share, int]]) -> list[float]:
    """What each GPU that has room would have cost."""
    before = _fragments(node, workload)
    if not (share.gpus == 1 and share.milli < 1000):
        return [float("inf")]
    rises: list[float] = []
    for n, slot in enumerate(node.gpus):
        if slot.usable and slot.milli_free >= share.milli:
            less = replace(slot, milli_free=slot.milli_free - share.milli)
            gpus = (*node.gpus[:n], less, *node.gpus[n + 1 :])
            left = replace(node, gpus=gpus, cpu_milli_free=node.cpu_milli_free - share.cpu_milli,
                           memory_mib_free=node.memory_mib_free - share.memory_mib)  # fmt: skip
            rises.append(_fragments(left, workload) - before)
    return rises
