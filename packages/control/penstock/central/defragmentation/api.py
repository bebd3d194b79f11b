"""Defragmentation over HTTP: plans to read. No verb carries one out."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.central.defragmentation import service
from penstock.central.defragmentation.seams import Database, Fleet, Moves
from penstock.central.defragmentation.service import Proposal
from penstock.kernel.http.web import BareRoute, Caller, View
from penstock.kernel.names import Reference
from penstock.placement.defragmentation.moves import Gain, Move, Price

router = APIRouter(prefix="/v1/defragmentation", tags=["defragmentation"], route_class=BareRoute)


class MoveView(View):
    """One lease, whole, to slots that are free when its turn comes."""

    allocation: str
    tenant: str
    gpus: int
    from_node: str
    from_name: str
    from_slots: list[str]
    to_node: str
    to_name: str
    to_slots: list[str]
    opens: str
    cost_gpu_minutes: int

    @classmethod
    def of(cls, move: Move, names: dict[str, str]) -> "MoveView":
        lease = move.lease
        return cls(
            allocation=lease.id,
            tenant=lease.tenant,
            gpus=lease.gpus,
            from_node=lease.node_id,
            from_name=names.get(lease.node_id, ""),
            from_slots=list(lease.slot_ids),
            to_node=move.to_node_id,
            to_name=names.get(move.to_node_id, ""),
            to_slots=list(move.to_slot_ids),
            opens=move.opens,
            cost_gpu_minutes=Price().cost(lease.gpus),
        )


class GainView(View):
    shape: str
    gpus: int
    before: int
    after: int

    @classmethod
    def of(cls, gain: Gain) -> "GainView":
        return cls(shape=gain.shape, gpus=gain.gpus, before=gain.before, after=gain.after)


class PlanView(View):
    """`opened` is how many more of `shape` and `gpus` fit once every move is made, in order."""

    family: str
    site: str
    site_name: str
    shape: str
    gpus: int
    opened: int
    cost_gpu_minutes: int
    disruption_gpu_minutes: int
    moves: list[MoveView]
    gains: list[GainView]

    @classmethod
    def of(cls, proposal: Proposal) -> "PlanView":
        plan = proposal.plan
        return cls(
            family=proposal.family,
            site=proposal.site.id,
            site_name=proposal.site.name,
            shape=plan.target.shape,
            gpus=plan.target.gpus,
            opened=plan.opened_total,
            cost_gpu_minutes=plan.cost_gpu_minutes,
            disruption_gpu_minutes=plan.disruption_gpu_minutes,
            moves=[MoveView.of(move, proposal.names) for move in plan.moves],
            gains=[GainView.of(gain) for gain in plan.gains],
        )


@router.get("")
async def get_defragmentation_plan(
    actor: Caller,
    database: Database,
    fleet: Fleet,
    planner: Moves,
    family: Annotated[Reference, Query()],
    site: Annotated[Reference, Query()],
    gpus: Annotated[Annotated[int, Field(ge=1, le=64)] | None, Query()] = None,
) -> PlanView:
    """Moves that would open whole nodes, or room for slices of `gpus`, with their cost and gain.
    Nothing is moved: it is a plan to read."""
    proposal = await service.propose(
        database, actor, fleet, planner, family=family, site=site, gpus=gpus
    )
    return PlanView.of(proposal)
