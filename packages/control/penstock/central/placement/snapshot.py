"""The solver's fleet, kept current from the change log. Read under the fleet's lock."""

from typing import Final

from penstock.central import fleet
from penstock.central.nodes import service as nodes
from penstock.central.nodes.model import Node, blocked
from penstock.central.slots import service as slots
from penstock.central.slots.model import Slot
from penstock.kernel.db import Tx
from penstock.placement import model
from penstock.placement.model import Fleet
from penstock_contracts.ids import NodeId

NO_CHASSIS: Final = model.Slot("", 0, 0, 0, approved=False, free=False)


class Snapshot:
    """One replica's fleet.

    It is lent to one transaction at a time. What that one plans becomes true only if it
    commits and `settle` is called; otherwise the next loan starts from the database.
    """

    def __init__(self) -> None:
        self._settled: Fleet | None = None
        self._lent: Fleet | None = None

    async def borrow(self, tx: Tx) -> Fleet:
        known, self._settled, self._lent = self._settled, None, None
        if known is None:
            _, revision = await fleet.changed_since(tx, 0)
            known = Fleet(revision=revision)
            await _load(tx, known, [node.id for node in await nodes.find(tx, None)])
        else:
            changed, known.revision = await fleet.changed_since(tx, known.revision)
            await _load(tx, known, changed)
        self._lent = known
        return known

    def settle(self) -> None:
        self._settled = self._settled or self._lent


async def _load(tx: Tx, known: Fleet, ids: list[NodeId]) -> None:
    if not ids:
        return
    held = await slots.by_node(tx, ids)
    for node in await nodes.find(tx, ids):
        known.drop(node.id)
        if seen := see(node, held.get(node.id, [])):
            known.put(seen)


def see(node: Node, slots: list[Slot]) -> model.Node | None:
    """A node as the solver sees it; None until it was discovered. What cannot be true is told
    as it is: the fleet quarantines it by name."""
    chassis = [slot for slot in slots if slot.kind == "chassis"]
    gpus = [slot for slot in slots if slot.kind == "gpu"]
    if not (slots or node.discovered or node.fault):
        return None
    return model.Node(
        id=node.id,
        site_id=node.site_id,
        family=node.family,
        blocked=blocked(node),
        chassis=_slot(chassis[0]) if chassis else NO_CHASSIS,
        gpus=tuple(_slot(slot) for slot in gpus),
        leaf=node.leaf,
        tags=node.tags_all,
        reserved_for=node.reserved_for or "",
        price_micros_per_gpu_hour=node.price_micros_per_gpu_hour,
        wrong=_wrong(node, len(chassis), len(gpus)),
    )


def _wrong(node: Node, chassis: int, gpus: int) -> str:
    if not chassis and not gpus:
        return node.fault or "it was discovered, and has no slots"
    return "" if chassis == 1 else f"it has {chassis} chassis slots, not one"


def _slot(slot: Slot) -> model.Slot:
    return model.Slot(
        id=slot.id,
        index=slot.index,
        numa_node=slot.numa_node,
        fence=slot.fence,
        approved=slot.approved_at is not None,
        free=slot.allocation_id is None,
        fabric=slot.fabric_guid,
    )
