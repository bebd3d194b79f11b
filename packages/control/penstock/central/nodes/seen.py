"""Nodes as the solver sees them, from their rows. Pure."""

from collections.abc import Iterable
from typing import Final

from penstock.central.fleet import NodeRow
from penstock.central.nodes.model import blocked
from penstock.placement.model import Node, Slot

NO_CHASSIS: Final = Slot("", 0, 0, approved=False, free=False)


def see_all(rows: Iterable[NodeRow]) -> Iterable[Node]:
    return (seen for row in rows if (seen := see(row)) is not None)


def see(row: NodeRow) -> Node | None:
    """A node as the solver sees it; None until it was discovered. What cannot be true is told
    as it is: the fleet quarantines it by name."""
    if row["slot_ids"] is None:
        return _slotless(row) if row["discovered"] or row["fault"] else None
    columns = (
        row["slot_ids"], row["indexes"], row["numa_nodes"], row["approved"], row["free"],
        row["fabrics"],
    )  # fmt: skip
    slots = [Slot(*values) for values in zip(*columns, strict=True)]
    gpus = row["kinds"].count("gpu")
    chassis = len(slots) - gpus
    wrong = "" if chassis == 1 else f"it has {chassis} chassis slots, not one"
    return _node(row, slots[gpus] if chassis else NO_CHASSIS, tuple(slots[:gpus]), wrong)


def _slotless(row: NodeRow) -> Node:
    wrong = row["fault"] or "it was discovered, and has no slots"
    return _node(row, NO_CHASSIS, (), wrong)


def _node(row: NodeRow, chassis: Slot, gpus: tuple[Slot, ...], wrong: str) -> Node:
    return Node(
        id=row["id"],
        site_id=row["site_id"],
        family=row["family"],
        blocked=blocked(
            fault=row["fault"],
            unready=row["unready"],
            draining=row["draining"],
            drain_reason=row["drain_reason"],
            site_away=row["site_away"],
            connected=row["connected"],
            away_reason=row["away_reason"],
        ),
        chassis=chassis,
        gpus=gpus,
        leaf=row["leaf"],
        tags=frozenset(row["tags"]),
        reserved_for=row["reserved_for"] or "",
        price_micros_per_gpu_hour=row["price_micros_per_gpu_hour"],
        wrong=wrong,
    )
