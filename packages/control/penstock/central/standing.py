"""Who am I, what must hold, how is it going: small endpoints about the plane itself."""

from dataclasses import asdict
from datetime import datetime

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from penstock.central.access.authorization import IN_FORCE, Resource, authorize
from penstock.central.nodes import impossible
from penstock.kernel import invariants
from penstock.kernel.http.paging import Page
from penstock.kernel.http.web import Caller, Tx, TxRoute, View
from penstock.kernel.invariants import Invariant
from penstock.kernel.loops import Loops, Standing

CHECKS = (impossible.rows, IN_FORCE.current)  # besides the views

router = APIRouter(tags=["platform"], route_class=TxRoute)


class GrantView(View):
    """A role at a place, besides the one at the top."""

    role: str
    scope: str
    scope_id: str


class Me(View):
    kind: str
    id: str
    role: str
    tenant: str | None
    grants: list[GrantView]


class InvariantView(View):
    name: str
    violations: int
    found: list[dict[str, object]]  # the first of them

    @classmethod
    def of(cls, checked: Invariant) -> "InvariantView":
        return cls(name=checked.name, violations=checked.violations, found=list(checked.found))


class LoopView(View):
    """Background work as the replica that answers knows it."""

    name: str
    description: str
    plane: str
    replica: str
    running: bool  # now
    last_began_at: datetime | None
    last_ended_at: datetime | None
    last_seconds: float | None
    outcome: str  # ok, failed, or waiting: nothing has run here yet, or another replica leads
    error: str  # of the last run, if it failed
    runs: int
    failures: int

    @classmethod
    def of(cls, loop: Standing) -> "LoopView":
        return cls(**asdict(loop))


@router.get("/v1/me")
async def who_am_i(actor: Caller) -> Me:
    """Whose key this is."""
    grants = sorted((g.level, g.place, g.role) for g in actor.grants)
    return Me(
        kind=actor.kind,
        id=actor.id,
        role=actor.role,
        tenant=actor.tenant_id,
        grants=[GrantView(role=role, scope=at, scope_id=id) for at, id, role in grants],
    )


@router.get("/v1/invariants")
async def list_invariants(actor: Caller, tx: Tx) -> Page[InvariantView]:
    """What must always be true, and how often it is not."""
    authorize(actor, "invariant.view", Resource("invariant"))
    checked = await invariants.check(tx, CHECKS)
    return Page(items=[InvariantView.of(invariant) for invariant in checked])


@router.get("/v1/loops")
async def list_loops(actor: Caller, request: Request) -> Page[LoopView]:
    """The background work of the replica that answers: when each loop last ran, and how."""
    authorize(actor, "loop.view", Resource("loop"))
    known: Loops = request.app.state.loops
    return Page(items=[LoopView.of(loop) for loop in known.standings()])


@router.get("/metrics", include_in_schema=False)
async def get_metrics(actor: Caller) -> Response:
    authorize(actor, "metrics.view", Resource("metrics"))
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
