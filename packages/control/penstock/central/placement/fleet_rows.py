"""Nodes whose rows cannot be true. The solver leaves them out; here they are named."""

from typing import Final

from penstock.central.nodes import service as nodes
from penstock.central.nodes.model import Node
from penstock.central.placement.snapshot import see
from penstock.central.slots import service as slots
from penstock.central.slots.model import Slot
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.invariants import FOUND_MAX, Invariant
from penstock.placement import quarantine

PAGE: Final = 500


def wrong(node: Node, held: list[Slot]) -> str:
    """What of the node's rows is impossible; empty if nothing is."""
    seen = see(node, held)
    return quarantine.why(seen) if seen else ""


async def impossible(tx: Tx) -> Invariant:
    """The same judgement as the solver's, of every node, from the database."""
    violations, found, after = 0, list[dict[str, object]](), ""
    while page := await nodes.page(tx, SYSTEM, None, after, PAGE):
        after = page[-1].id
        held = await slots.by_node(tx, [node.id for node in page])
        for node in page:
            if why := wrong(node, held.get(node.id, [])):
                violations += 1
                found.append({"node": node.id, "name": node.name, "why": why})
    return Invariant("fleet_row_impossible", violations, tuple(found[:FOUND_MAX]))
