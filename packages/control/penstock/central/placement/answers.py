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
from penstock.placement import estimates, solver
from penstock.placement.model import Fleet, Refusal, Request
from penstock.placement.waiting import Lease
from penstock_contracts.ids import AllocationId, SkuId, TenantId


@dataclass(frozen=True)
class Unplaced:
    """Refused, and not yet explained: that takes longer than to decide, and needs no lock."""

    want: Want
    refusal: Refusal
    kept: bool = False  # it would fit on nodes that are kept for those who waited before it


Decided = Outcome | Unplaced


def hopeful(decided: Sequence[Decided]) -> list[Request]:
    """What was refused and may fit later."""
    refused = (one for one in decided if isinstance(one, Unplaced) and not one.refusal.never)
    return [one.want.request for one in refused]


def explained(decided: Sequence[Decided], fleet: Fleet, leases: Sequence[Lease]) -> list[Outcome]:
    """Every refusal says why. Those of the same request say the same. `leases` are those whose
    end may help."""
    why: dict[tuple[SkuId, object, bool], Problem] = {}
    outcomes: list[Outcome] = []
    for one in decided:
        if isinstance(one, Unplaced):
            same = (one.want.sku.id, one.want.request, one.kept)
            if same not in why:
                why[same] = unavailable(one, fleet, leases)
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


def unavailable(one: Unplaced, fleet: Fleet, leases: Sequence[Lease]) -> Problem:
    """Fail closed, and say why: every rule with the nodes it removed, and what would fit."""
    want, refusal, request = one.want, one.refusal, one.want.request
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
    ends = () if refusal.never else estimates.waiting_for(request, fleet, leases)
    explanation["after"] = _ends(ends, want.project.tenant_id)
    suggestion = f"it would fit {changes[0].what}" if changes else ""
    plural = "s" if request.gpus > 1 else ""
    detail = f"no node can take {request.gpus} {request.family} GPU{plural} as {request.shape} now"
    if refusal.never:
        explanation["never"] = refusal.why
        detail = f"this can never be placed as the fleet is: {refusal.why}"
    elif one.kept:
        detail = f"what has room for {request.gpus} {request.family} is kept for those who wait"
        suggestion = suggestion or "ask with `queue: true` to wait as well"
    elif not suggestion:
        own = [lease.id for lease in ends if lease.tenant == want.project.tenant_id]
        which = f"{own[0]} to end" if own else "a lease to end"
        suggestion = f"ask with `queue: true` to wait for {which}, or for another SKU"
    return Conflict(
        detail,
        code="sku_unavailable",
        suggestion=suggestion,
        extras={"explanation": explanation},
    )


def _ends(leases: Sequence[Lease], tenant: TenantId) -> dict[str, object]:
    """After whose end it would fit. Others' leases are counted, and not named."""
    own = [lease.id for lease in leases if lease.tenant == tenant]
    return {"leases": own, "others": len(leases) - len(own)}
