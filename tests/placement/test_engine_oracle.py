"""The engine against an oracle that looks at every node, one rule after another."""

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations

from hypothesis import given

from penstock.placement import solver
from penstock.placement.model import Fleet, Node, Plan, Refusal, Request, Shape, Share, Slot

from . import engine_fleets

Asked = Request | Share


def families(asked: Asked) -> tuple[str, ...]:
    if isinstance(asked, Request):
        return (asked.family,)
    return asked.families or engine_fleets.FAMILIES


def refused_by(asked: Asked, node: Node) -> str | None:
    """The first rule that the node fails."""
    rules = {
        "site_allowed": asked.site_id in (None, node.site_id),
        "site_permitted": asked.sites is None or node.site_id in asked.sites,
        "resident": set(asked.residency) <= node.tags,
        "affordable": asked.price_micros_max is None
        or node.price_micros_per_gpu_hour <= asked.price_micros_max,
        "open_to_tenant": node.reserved_for in ("", asked.tenant),
        "schedulable": not node.blocked,
        "divided_as_asked": node.divisible == isinstance(asked, Share),
        "apart": node.id not in asked.apart_from,
        "kept": node.id not in asked.kept,
        "large_enough": large(asked, node),
        "free_enough": free(asked, node),
    }
    return next((rule for rule, passed in rules.items() if not passed), None)


def large(asked: Asked, node: Node) -> bool:
    if isinstance(asked, Share):
        return len(node.gpus) >= asked.gpus
    approved = sum(slot.approved for slot in node.gpus)
    if asked.shape is Shape.GPU_SLICE:
        return approved >= asked.gpus
    return node.chassis.approved and approved == len(node.gpus) == asked.gpus


def free(asked: Asked, node: Node) -> bool:
    usable = node.usable_gpus
    if isinstance(asked, Request):
        wanted = len(node.gpus) if asked.shape is Shape.BAREMETAL else asked.gpus
        return len(usable) >= wanted
    if not node.chassis.free:
        return (asked.gpus, asked.cpu_milli, asked.memory_mib) == (0, 0, 0)
    room = [slot for slot in usable if slot.milli_free >= max(1, asked.milli)]
    return (
        len(room) >= asked.gpus
        and node.cpu_milli_free >= asked.cpu_milli
        and node.memory_mib_free >= asked.memory_mib
    )


def permitted(asked: Asked, fleet: list[Node]) -> list[Node]:
    allowed = asked.families_allowed
    return [
        node
        for node in fleet
        if node.family in families(asked) and (allowed is None or node.family in allowed)
    ]


def at_its_best(node: Node) -> Node:
    """As it would be after any amount of waiting: approved, unblocked, and all of it free."""

    def best(slot: Slot) -> Slot:
        return replace(slot, approved=True, free=True, milli_free=1000)

    gpus = tuple(best(slot) for slot in node.gpus)
    return replace(
        node, blocked="", chassis=best(node.chassis), gpus=gpus, cpu_milli_free=1 << 40,
        memory_mib_free=1 << 40,
    )  # fmt: skip


def check(fleet: list[Node], asked: Asked) -> None:
    solved = solver.solve(asked, Fleet(fleet))
    if isinstance(solved, Refusal) and solved.never:
        assert solved.why
        assert all(refused_by(asked, at_its_best(n)) for n in permitted(asked, fleet))
        return
    judged = {n.id: refused_by(asked, n) for n in fleet if n.family in families(asked)}
    if asked.families_allowed is not None:
        known = {n.id for n in fleet if n.family in asked.families_allowed}
        judged = {id: rule for id, rule in judged.items() if id in known}
    counts = Counter(rule for rule in judged.values() if rule)
    assert {rule: n for rule, n in solved.rejections.items() if n} == counts
    fitting = [id for id, rule in judged.items() if rule is None]
    assert isinstance(solved, Plan) == bool(fitting)
    if isinstance(solved, Plan):
        assert solved.node_id in fitting
        assert solved.candidates[0].node_id == solved.node_id
        assert sum(candidate.alike for candidate in solved.candidates) <= len(fitting)


@given(engine_fleets.fleets(), engine_fleets.requests())
def test_whole_gpus_go_to_a_node_that_every_rule_lets_pass(
    fleet: list[Node], request: Request
) -> None:
    check(fleet, request)


@given(engine_fleets.fleets(), engine_fleets.shares())
def test_a_share_goes_to_a_node_that_every_rule_lets_pass(fleet: list[Node], share: Share) -> None:
    check(fleet, share)


@given(engine_fleets.fleets(), engine_fleets.gangs())
def test_a_gang_is_whole_nodes_of_one_site_on_the_fewest_leaves_or_nothing(
    fleet: list[Node], request: Request
) -> None:
    solved = solver.solve(request, Fleet(fleet))
    if isinstance(solved, Refusal) and solved.never:
        assert solved.why
        best = map(at_its_best, permitted(request, fleet))
        fitting = [n for n in best if refused_by(request, n) is None]
        assert not any(complete(request, fitting, site) for site in engine_fleets.SITES)
        return
    fitting = [n for n in fleet if n.family == request.family and refused_by(request, n) is None]
    fewest = min(
        (
            len(leaves)
            for site in engine_fleets.SITES
            for leaves in complete(request, fitting, site)
        ),
        default=None,
    )
    if fewest is None:
        assert isinstance(solved, Refusal)
        return
    assert isinstance(solved, Plan)
    chosen = [n for n in fleet if n.id in solved.node_ids]
    assert set(solved.node_ids) <= {n.id for n in fitting}
    assert len(set(solved.node_ids)) == request.nodes
    assert {n.site_id for n in chosen} == {solved.site_id}
    assert len({leaf(n) for n in chosen}) == fewest
    assert len(solved.slot_ids) == request.nodes * (request.gpus + 1)


def leaf(node: Node) -> str:
    return node.leaf or node.id


def complete(request: Request, fitting: list[Node], site: str) -> list[tuple[str, ...]]:
    """Every set of leaves of the site that holds enough nodes."""
    here = Counter(leaf(node) for node in fitting if node.site_id == site)
    sets = chain.from_iterable(combinations(here, width) for width in range(1, len(here) + 1))
    return [leaves for leaves in sets if sum(here[leaf] for leaf in leaves) >= request.nodes]
