"""Nodes whose rows cannot be true. The solver leaves them out; here they are named."""

from collections.abc import Sequence

from penstock.central import fleet
from penstock.central.fleet import NodeRow
from penstock.central.nodes import service
from penstock.central.nodes.seen import see_all
from penstock.kernel.db import Tx
from penstock.kernel.invariants import FOUND_MAX, Invariant
from penstock.placement.index import quarantine
from penstock_contracts.ids import NodeId


async def wrong(tx: Tx, ids: Sequence[str] | None = None) -> dict[str, str]:
    """Of these nodes, or all: what is impossible, by node. The same judgement as the solver's."""
    found: dict[str, str] = {}

    def look(rows: list[NodeRow]) -> None:
        found.update({n.id: why for n in see_all(rows) if (why := quarantine.why(n))})

    if ids is None:
        await fleet.all_nodes(tx, look)
    else:
        look(await fleet.nodes(tx, ids))
    return found


async def rows(tx: Tx) -> Invariant:
    why = await wrong(tx)
    nodes_found = await service.find(tx, [NodeId(id) for id in sorted(why)])
    found: list[dict[str, object]] = [
        {"node": node.id, "name": node.name, "why": why[node.id]} for node in nodes_found
    ]
    return Invariant("fleet_row_impossible", len(found), tuple(found[:FOUND_MAX]))
