"""What a node and its site say of the node's health. It is told and shown; nothing acts on it.

Each report is the whole truth of its half, so one that is lost or comes twice does no harm. Only
the node's own site reports on it, one report after the other.
"""

from collections.abc import Sequence
from typing import Final

from penstock.central.nodes import discovery
from penstock.central.nodes.health import store
from penstock.central.nodes.health.model import Discrepancy, NodeHealth, Problem, sentences
from penstock.central.nodes.model import Node
from penstock.kernel import events
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import identity
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import NodeId, SiteId
from penstock_contracts.wire_pb2 import NodeDiscrepancies, Signed, TaskResult

REPORTED_MAX: Final = 256
MORE_MAX: Final = 1_000_000
LENGTH_MAX: Final = 300
KIND: Final = {
    wire.DISCREPANCY_KIND_NOT_HELD: "not_held",
    wire.DISCREPANCY_KIND_NOT_LEASED: "not_leased",
    wire.DISCREPANCY_KIND_OTHER_SLOTS: "other_slots",
}


async def of_nodes(tx: Tx, ids: Sequence[NodeId]) -> dict[str, NodeHealth]:
    return await store.find(tx, ids)


async def of_node(tx: Tx, id: NodeId) -> NodeHealth:
    return (await store.find(tx, [id])).get(id, NodeHealth())


async def reported(tx: Tx, site_id: SiteId, signed: Signed) -> None:
    """A signed health: verified with the node's own key before it is believed."""
    claimed = TaskResult.FromString(signed.payload)
    node = await discovery.node_of(tx, site_id, claimed.node_id)
    said = TaskResult.FromString(identity.verify(node.public_key, signed)).health
    _check(len(said.problems))
    since = tx.now.isoformat()
    problems = [
        Problem(_line(one.check), _line(one.subject), _line(one.detail), since)
        for one in said.problems
    ]
    before = await of_node(tx, node.id)
    now = before.with_problems(problems, min(said.more, MORE_MAX))
    if now != before:
        await store.save(tx, node.id, now)
        _emit_problems(tx, node, now)


async def compared(tx: Tx, site_id: SiteId, report: NodeDiscrepancies) -> None:
    """Where the site found that the node's host differs from its leases."""
    node = await discovery.node_of(tx, site_id, report.node_id)
    _check(len(report.found))
    since = tx.now.isoformat()
    before = await of_node(tx, node.id)
    now = before.with_discrepancies(
        Discrepancy(_kind(one), _line(one.allocation_id), _line(one.runtime_id), since)
        for one in report.found
    )
    if now != before:
        await store.save(tx, node.id, now)
        _emit_discrepancies(tx, node, now)


def _emit_problems(tx: Tx, node: Node, now: NodeHealth) -> None:
    events.emit(
        tx, "node.health_changed", node.id, site=node.site_id, name=node.name,
        problems=sentences(now.problems), count=len(now.problems) + now.problems_more,
    )  # fmt: skip


def _emit_discrepancies(tx: Tx, node: Node, now: NodeHealth) -> None:
    if now.discrepancies:
        events.emit(
            tx, "node.discrepancy_found", node.id, site=node.site_id, name=node.name,
            discrepancies=sentences(now.discrepancies), count=len(now.discrepancies),
        )  # fmt: skip
    else:
        events.emit(tx, "node.discrepancy_cleared", node.id, site=node.site_id, name=node.name)


def _check(count: int) -> None:
    if count > REPORTED_MAX:
        raise Rejected(f"a node's health has {count} entries; {REPORTED_MAX} are possible")


def _kind(found: wire.Discrepancy) -> str:
    kind = KIND.get(found.kind)
    if kind is None:
        raise Rejected("this version does not know this kind of discrepancy")
    return kind


def _line(said: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in said[:LENGTH_MAX])
