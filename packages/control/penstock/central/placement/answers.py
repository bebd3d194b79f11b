"""What a batch answers: replays, refusals with their reasons, receipts."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.central.placement.wants import Want
from penstock.kernel import idempotency
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Problem
from penstock.placement import solver
from penstock.placement.model import Fleet, Plan, Refusal
from penstock_contracts.ids import AllocationId


def twins(asks: Sequence[Ask]) -> dict[str, str]:
    """By ask id: the first ask of this batch that is the same request with the same key."""
    first: dict[tuple[str, str, bytes], str] = {}
    same: dict[str, str] = {}
    for ask in asks:
        if ask.key is not None:
            original = first.setdefault((ask.actor.name, ask.key, ask.fingerprint), ask.id)
            if original != ask.id:
                same[ask.id] = original
    return same


async def given_before(tx: Tx, asks: Sequence[Ask]) -> dict[str, Outcome]:
    """By ask id: answers that a commit before this one gave.

    Either this very commit, whose reply was lost, or another request with the same key.
    """
    committed = await allocations.find(tx, [ask.id for ask in asks])
    outcomes: dict[str, Outcome] = {a.id: given(a, tx.now) for a in committed}
    for ask in asks:
        if ask.key is not None and ask.id not in outcomes:
            answered = await _replay(tx, ask)
            if answered is not None:
                outcomes[ask.id] = answered
    return outcomes


async def _replay(tx: Tx, ask: Ask) -> Outcome | None:
    """Claim the ask's key, or give the answer that the key has."""
    try:
        claim = await idempotency.claim_key(tx, ask.actor, ask.key or "", ask.fingerprint)
    except Problem as refusal:
        return refusal
    if claim.answer is None:
        return None
    found = await allocations.find(tx, [AllocationId(bytes(claim.answer.body).decode())])
    return given(found[0], tx.now, replayed=True)


def given(allocation: Allocation, now: datetime, *, replayed: bool = False) -> Placed | Queued:
    waits = allocation.placed_at is None
    return (Queued if waits else Placed)(allocation, now, replayed)


async def remember(tx: Tx, asks: Sequence[Ask], outcomes: dict[str, Outcome]) -> None:
    """The answer to a key is its allocation. A key that led to a refusal is free again."""
    for ask in asks:
        if ask.key is None:
            continue
        claim = idempotency.Claim(ask.actor.name, ask.key)
        if isinstance(outcomes[ask.id], Placed | Queued):
            await idempotency.record_answer(tx, claim, 201, ask.id.encode())
        else:
            await idempotency.release(tx, claim)


def unavailable(want: Want, refusal: Refusal, fleet: Fleet, *, kept: bool = False) -> Problem:
    """Fail closed, and say why: every rule with the nodes it removed, and what would fit.

    `kept`: it would fit on nodes that are kept for those who waited before it.
    """
    request = want.request
    explanation: dict[str, object] = {
        "considered": refusal.considered,
        "rejections": refusal.rejections,
        "policy": solver.POLICY,
        "fleet_revision": fleet.revision,
    }
    found = solver.explain(request, fleet, want.sku.gpu_counts)
    explanation["near"] = [asdict(miss) for miss in found.near]
    explanation["changes"] = [
        {"what": c.what, "gpus": c.request.gpus, "site": c.request.site_id, "node": c.node_id}
        for c in found.changes
    ]
    suggestion = f"it would fit {found.changes[0].what}" if found.changes else ""
    plural = "s" if request.gpus > 1 else ""
    detail = f"no node can take {request.gpus} {request.family} GPU{plural} as {request.shape} now"
    if refusal.never:
        explanation["never"] = refusal.why
        detail = f"this can never be placed as the fleet is: {refusal.why}"
    elif kept:
        detail = f"what has room for {request.gpus} {request.family} is kept for those who wait"
        suggestion = "ask with `queue: true` to wait as well"
    elif not suggestion:
        suggestion = "ask with `queue: true` to wait for a lease to end, or for another SKU"
    return Conflict(
        detail,
        code="sku_unavailable",
        suggestion=suggestion,
        extras={"explanation": explanation},
    )


def receipt(want: Want, plan: Plan) -> dict[str, object]:
    return {
        "policy": solver.POLICY,
        "request": asdict(want.request),
        "node": plan.node_id,
        "slots": [asdict(taken) for taken in plan.taken],
        "candidates": [
            {"node": candidate.node_id, "score": list(candidate.score)}
            for candidate in plan.candidates
        ],
        "rejections": plan.rejections,
    }
