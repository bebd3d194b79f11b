"""What a batch answers: replays, refusals with their reasons, receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.central.placement.wants import Want
from penstock.kernel import idempotency
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Problem
from penstock.placement import solver
from penstock.placement.model import Fleet, Refusal
from penstock_contracts.ids import AllocationId, SkuId


@dataclass(frozen=True)
class Unplaced:
    """Refused, and not yet explained: that takes longer than to decide, and needs no lock."""

    want: Want
    refusal: Refusal


Decided = Outcome | Unplaced


def explained(decided: Sequence[Decided], fleet: Fleet) -> list[Outcome]:
    """Every refusal says why. Those of the same request say the same."""
    why: dict[tuple[SkuId, object], Problem] = {}
    outcomes: list[Outcome] = []
    for one in decided:
        if isinstance(one, Unplaced):
            same = (one.want.sku.id, one.want.request)
            if same not in why:
                why[same] = unavailable(one.want, one.refusal, fleet)
            outcomes.append(why[same])
        else:
            outcomes.append(one)
    return outcomes


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


async def given_before(tx: Tx, asks: Sequence[Ask], *, again: bool) -> dict[str, Outcome]:
    """By ask id: answers that a commit before this one gave.

    Either this very commit, whose reply was lost, or another request with the same key.
    """
    committed = await allocations.find(tx, [ask.id for ask in asks]) if again else []
    outcomes: dict[str, Outcome] = {a.id: given(a, tx.now) for a in committed}
    keyed = [ask for ask in asks if ask.key is not None and ask.id not in outcomes]
    used = await idempotency.answers(tx, [(ask.actor.name, ask.key or "") for ask in keyed])
    meant = {key: answer.request for key, answer in used.items()}
    replays: dict[str, AllocationId] = {}
    for ask in keyed:
        key = (ask.actor.name, ask.key or "")
        if meant.setdefault(key, ask.fingerprint) != ask.fingerprint:
            outcomes[ask.id] = idempotency.reused()
        elif key in used:
            replays[ask.id] = AllocationId(used[key].body.decode())
    if replays:
        found = {a.id: a for a in await allocations.find(tx, list(replays.values()))}
        for id, replayed in replays.items():
            outcomes[id] = given(found[replayed], tx.now, replayed=True)
    return outcomes


def given(allocation: Allocation, now: datetime, *, replayed: bool = False) -> Placed | Queued:
    waits = allocation.placed_at is None
    return (Queued if waits else Placed)(allocation, now, replayed)


async def remember(tx: Tx, asks: Sequence[Ask], outcomes: Mapping[str, Decided]) -> None:
    """The answer to a key is its allocation. A key that led to a refusal stays free."""
    await idempotency.record_answers(
        tx,
        [
            (ask.actor, ask.key, ask.fingerprint, 201, ask.id.encode())
            for ask in asks
            if ask.key is not None and isinstance(outcomes[ask.id], Placed | Queued)
        ],
    )


def unavailable(want: Want, refusal: Refusal, fleet: Fleet, *, kept: bool = False) -> Problem:
    """Fail closed, and say why: every rule with the nodes it removed, and what would fit.

    `kept`: it would fit on nodes that are kept for those who waited before it.
    """
    request = want.request
    explanation: dict[str, object] = {
        "considered": refusal.considered,
        "rejections": refusal.rejections,
        "policy": solver.POLICY,
        "policy_revision": want.policy_revision,
        "fleet_revision": fleet.revision,
    }
    found = solver.explain(request, fleet, want.sku.gpu_counts)
    changes = [change for change in found.changes if want.may_become(change.request)]
    explanation["near"] = [asdict(miss) for miss in found.near]
    explanation["changes"] = [
        {"what": c.what, "gpus": c.request.gpus, "site": c.request.site_id, "node": c.node_id}
        for c in changes
    ]
    suggestion = f"it would fit {changes[0].what}" if changes else ""
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
