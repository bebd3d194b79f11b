"""Nodes over HTTP."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.nodes import impossible, service
from penstock.central.nodes.health import service as health
from penstock.central.nodes.health.model import NodeHealth
from penstock.central.nodes.model import Changes, Node, posture
from penstock.central.slots import service as slots
from penstock.central.slots.api import SlotView
from penstock.central.slots.model import Slot, SlotState
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference, Tags, Text
from penstock_contracts.ids import TenantId

router = APIRouter(prefix="/v1/nodes", tags=["nodes"], route_class=TxRoute)


class Drain(Body):
    reason: Text = ""


class NodeChange(Body):
    """What is left out stays as it is."""

    tags: Tags = Field(default_factory=list[str])
    reserved_for: Reference | None = None  # a tenant; null: for everyone
    price_micros_per_gpu_hour: Annotated[int, Field(ge=0, le=10**12)] = 0  # 0: not known
    leaf: Name | None = None  # null: as discovered

    def changes(self) -> Changes:
        made: Changes = {
            "tags": self.tags,
            "reserved_for": TenantId(self.reserved_for) if self.reserved_for else None,
            "price_micros_per_gpu_hour": self.price_micros_per_gpu_hour,
            "leaf_assigned": self.leaf,
        }
        for unsaid in type(self).model_fields.keys() - self.model_fields_set:
            made.pop("leaf_assigned" if unsaid == "leaf" else unsaid)
        return made


class ProblemView(View):
    """A check of the host that does not pass."""

    check: str
    subject: str
    detail: str
    since: datetime


class DiscrepancyView(View):
    """What the host holds and what it should hold are not the same."""

    kind: str
    allocation: str
    runtime: str
    since: datetime


class HealthView(View):
    """What is wrong with a node. It keeps nothing from being placed there."""

    healthy: bool
    problems: list[ProblemView]
    problems_more: int
    discrepancies: list[DiscrepancyView]
    changed_at: datetime | None

    @classmethod
    def of(cls, health: NodeHealth) -> "HealthView":
        return cls(
            healthy=not health.problems and not health.discrepancies,
            problems=[ProblemView.model_validate(asdict(one)) for one in health.problems],
            problems_more=health.problems_more,
            discrepancies=[
                DiscrepancyView.model_validate(asdict(one)) for one in health.discrepancies
            ],
            changed_at=health.changed_at,
        )


class NodeView(View):
    id: str
    name: str
    site: str
    hardware: str
    family: str
    gpus: int
    gpus_free: int
    posture: str
    posture_reason: str
    draining: bool
    connected: bool
    connected_at: datetime | None
    enrolled_at: datetime
    retiring_at: datetime | None
    retired_at: datetime | None
    replaces: str | None
    replaced_by: str | None
    leaf: str
    tags: list[str]
    site_tags: list[str]
    reserved_for: str | None
    price_micros_per_gpu_hour: int
    health: HealthView

    @classmethod
    def of(cls, node: Node, slots: list[Slot], wrong: str, health: NodeHealth) -> "NodeView":
        standing, reason = posture(node, slots, wrong)
        gpus = [slot for slot in slots if slot.kind == "gpu"]
        return cls(
            id=node.id,
            name=node.name,
            site=node.site_id,
            hardware=node.hardware,
            family=node.family,
            gpus=len(gpus),
            gpus_free=sum(slot.state is SlotState.APPROVED for slot in gpus if not node.retired_at),
            posture=standing,
            posture_reason=reason,
            draining=node.draining,
            connected=node.connected,
            connected_at=node.presence_at,
            enrolled_at=node.enrolled_at,
            retiring_at=node.retiring_at,
            retired_at=node.retired_at,
            replaces=node.replaces,
            replaced_by=node.replaced_by,
            leaf=node.leaf,
            tags=list(node.tags),
            site_tags=list(node.site_tags),
            reserved_for=node.reserved_for,
            price_micros_per_gpu_hour=node.price_micros_per_gpu_hour,
            health=HealthView.of(health),
        )


@router.get("")
async def list_nodes(
    actor: Caller,
    tx: Tx,
    paging: PageQuery,
    site: Annotated[str | None, Query(max_length=64)] = None,
    retired: Annotated[bool, Query()] = False,
) -> Page[NodeView]:
    """Every node, with its posture; with `retired`, those that are gone, too."""
    nodes = await service.page(tx, actor, site, paging.after, paging.fetch, retired=retired)
    ids = [node.id for node in nodes]
    held = await slots.by_node(tx, ids)
    wrong = await impossible.wrong(tx, ids)
    known = await health.of_nodes(tx, ids)
    return paging.page(
        nodes,
        lambda node: NodeView.of(
            node, held.get(node.id, []), wrong.get(node.id, ""), known.get(node.id, NodeHealth())
        ),
        lambda node: node.id,
    )


@router.get("/{id}")
async def get_node(id: str, actor: Caller, tx: Tx) -> NodeView:
    """One node."""
    return await view(tx, await service.get(tx, actor, id))


@router.patch("/{id}")
async def change_node(id: str, body: NodeChange, actor: Caller, tx: Tx) -> NodeView:
    """Say what policy goes by: tags, for whom it is reserved, its price, its fabric leaf."""
    return await view(tx, await service.change(tx, actor, id, body.changes()))


@router.get("/{id}/slots")
async def list_node_slots(id: str, actor: Caller, tx: Tx) -> Page[SlotView]:
    """The node's slots, the chassis first."""
    node = await service.get(tx, actor, id)
    held = await slots.by_node(tx, [node.id])
    return Page(items=[SlotView.of(slot) for slot in held.get(node.id, [])])


@router.post("/{id}/drain", status_code=200)
async def drain_node(id: str, actor: Caller, tx: Tx, body: Drain | None = None) -> NodeView:
    """Place nothing new here. Leases that run go on."""
    reason = (body.reason if body else "") or tx.reason
    return await view(tx, await service.drain(tx, actor, id, draining=True, reason=reason))


@router.post("/{id}/undrain", status_code=200)
async def undrain_node(id: str, actor: Caller, tx: Tx) -> NodeView:
    """Place here again."""
    return await view(tx, await service.drain(tx, actor, id, draining=False, reason=""))


@router.post("/{id}/approve", status_code=200)
async def approve_node(id: str, actor: Caller, tx: Tx) -> NodeView:
    """Approve every proposed slot of the node."""
    node = await service.get(tx, actor, id)
    await slots.approve(tx, actor, node.id, None)
    return await view(tx, node)


async def view(tx: Tx, node: Node) -> NodeView:
    held = await slots.by_node(tx, [node.id])
    wrong = await impossible.wrong(tx, [node.id])
    known = await health.of_node(tx, node.id)
    return NodeView.of(node, held.get(node.id, []), wrong.get(node.id, ""), known)
