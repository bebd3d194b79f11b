"""What a defragmentation would move and open. A plan, and never more than that."""

from dataclasses import dataclass

from penstock.central.access.authorization import Resource, authorize
from penstock.central.defragmentation.planner import Planner, Wanted
from penstock.central.nodes import service as nodes
from penstock.central.placement.reading import FleetReader
from penstock.central.sites import service as sites
from penstock.central.sites.model import Site
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock.placement.defragmentation.moves import MovePlan, Target
from penstock.placement.index.families import Family
from penstock.placement.model import Shape
from penstock_contracts.ids import NodeId


@dataclass(frozen=True)
class Proposal:
    """`names` are those of the nodes that the plan speaks of."""

    family: str
    site: Site
    plan: MovePlan
    names: dict[str, str]


async def propose(
    database: Database,
    actor: Actor,
    reader: FleetReader,
    planner: Planner,
    *,
    family: str,
    site: str,
    gpus: int | None,
) -> Proposal:
    """Moves that would open slices of so many GPUs, or (no number) whole nodes."""
    authorize(actor, "defragmentation.view", Resource("defragmentation"))
    found, wanted = await database.run(
        lambda tx: _want(tx, actor, reader, family, site, gpus), patient=False
    )
    plan = (await planner.plans([wanted], fresh=True))[wanted]
    named = {id for move in plan.moves for id in (move.lease.node_id, move.to_node_id)}
    known = await database.run(
        lambda tx: nodes.find(tx, [NodeId(id) for id in sorted(named)]), patient=False
    )
    return Proposal(family, found, plan, {node.id: node.name for node in known})


async def _want(
    tx: Tx, actor: Actor, reader: FleetReader, family: str, site: str, gpus: int | None
) -> tuple[Site, Wanted]:
    try:
        found = await sites.get(tx, actor, site)
    except NotFound as missing:
        raise Invalid(f"site: {missing.detail}", code="unknown_site") from None
    fleet = await reader.read(tx)
    known = fleet.family(family)
    largest = 0 if known is None else _largest(known, found.id)
    if not largest:
        raise Invalid(
            f"family: no node of family {family!r} is known at site {found.name!r}",
            code="unknown_family",
            suggestion="`penstock node ls` lists the nodes with their hardware",
        )
    if gpus is not None and gpus > largest:
        raise Invalid(
            f"gpus: the largest {family} node at site {found.name!r} has {largest} GPUs, "
            f"so no move opens {gpus}",
            code="impossible_count",
        )
    target = Target(Shape.GPU_SLICE, gpus) if gpus else Target(Shape.BAREMETAL, largest)
    return found, Wanted(family, found.id, target)


def _largest(family: Family, site_id: str) -> int:
    here = (row for row in family.rows.values() if row.cohort.traits.site_id == site_id)
    return max((row.layout.gpus for row in here), default=0)
