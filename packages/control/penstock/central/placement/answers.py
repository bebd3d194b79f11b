"""What a batch answers: replays, refusals with their reasons, receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final

from penstock.central.access.keys import UNKNOWN
from penstock.central.allocations import gangs, members
from penstock.central.allocations import store as allocations
from penstock.central.placement.leeways import Leeways
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.central.placement.wants import Want
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Problem, Unauthenticated
from penstock.kernel.http import idempotency
from penstock.kernel.http.idempotency import Given
from penstock.kernel.questions import Question
from penstock.placement import solver
from penstock.placement.explaining import availability
from penstock.placement.line import estimates
from penstock.placement.line.waiting import Lease
from penstock.placement.model import Change, Fleet, Leeway, Refusal, Request
from penstock_contracts.ids import AllocationId, TenantId

WAITING: Final = "`queue: true` (`--queue`)"  # in the API, and on the command line


@dataclass(frozen=True)
class Unplaced:
    """Refused, and not yet explained: that takes longer than to decide, and needs no lock."""

    want: Want
    refusal: Refusal
    kept: bool = False  # it would fit on nodes that are kept for those who waited before it


Decided = Outcome | Unplaced
Used = dict[tuple[str, str], idempotency.Answer]


def refused(decided: Sequence[Decided]) -> list[Want]:
    return [one.want for one in decided if isinstance(one, Unplaced)]


def hopeful(decided: Sequence[Decided]) -> list[Request]:
    """What was refused and may fit later."""
    later = (one for one in decided if isinstance(one, Unplaced) and not one.refusal.never)
    return [one.want.request for one in later]


def explained(
    decided: Sequence[Decided], fleet: Fleet, leeways: Leeways, leases: Sequence[Lease]
) -> list[Outcome]:
    """Every refusal says why. Those of the same request say the same. `leases` are those whose
    end may help."""
    why: dict[object, Problem] = {}
    outcomes: list[Outcome] = []
    for one in decided:
        if isinstance(one, Unplaced):
            want = one.want
            # Who is told what depends on whose project it is, and on who asks.
            about = (want.sku.id, want.project.id, want.ask.actor.tenant_id)
            same = (*about, want.request, one.kept)
            if same not in why:
                why[same] = unavailable(one, fleet, leeways.of(want), leases)
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


def by_holders(
    asks: Sequence[Ask], holders: Mapping[bytes, Actor], outcomes: dict[str, Decided]
) -> list[Ask]:
    """The asks of those whose keys hold, each by whom it is of now; the others are refused."""
    held: list[Ask] = []
    for ask in asks:
        actor = holders.get(ask.credential) if ask.credential else ask.actor
        if actor is None:
            outcomes[ask.id] = Unauthenticated(UNKNOWN)
        else:
            held.append(ask if actor == ask.actor else replace(ask, actor=actor))
    return held


def keyed(asks: Sequence[Ask]) -> list[Given]:
    """What is answered to the keys of these, once they have their allocations."""
    return [
        Given(ask.actor, ask.key, ask.fingerprint, 201, ask.id.encode())
        for ask in asks
        if ask.key is not None
    ]


def used_keys(asks: Sequence[Ask]) -> Question[Used]:
    """What was answered to the keys of these."""
    return idempotency.answers([(ask.actor.name, ask.key) for ask in asks if ask.key is not None])


async def given_before(
    tx: Tx, asks: Sequence[Ask], used: Used, *, again: bool
) -> dict[str, Outcome]:
    """By ask id: answers that a commit before this one gave.

    Either this very commit, whose reply was lost, or another request with the same key.
    """
    committed = await _leases(tx, [ask.id for ask in asks]) if again else {}
    outcomes: dict[str, Outcome] = {id: given(lease, tx.now) for id, lease in committed.items()}
    asked = [ask for ask in asks if ask.key is not None and ask.id not in outcomes]
    meant = {key: answer.request for key, answer in used.items()}
    replays: dict[str, AllocationId] = {}
    for ask in asked:
        key = (ask.actor.name, ask.key or "")
        if meant.setdefault(key, ask.fingerprint) != ask.fingerprint:
            outcomes[ask.id] = idempotency.reused()
        elif key in used and used[key].status >= 400:
            outcomes[ask.id] = idempotency.refused_before(used[key].status, used[key].body)
        elif key in used:
            replays[ask.id] = AllocationId(used[key].body.decode())
    if replays:
        found = await _leases(tx, list(replays.values()))
        for id, replayed in replays.items():
            outcomes[id] = given(found[replayed], tx.now, replayed=True)
    return outcomes


async def _leases(tx: Tx, ids: Sequence[AllocationId]) -> dict[AllocationId, gangs.Lease]:
    found = await members.leases(tx, await allocations.find(tx, ids))
    return {lease.allocation.id: lease for lease in found}


def given(lease: gangs.Lease, now: datetime, *, replayed: bool = False) -> Placed | Queued:
    if lease.allocation.placed_at is None:
        return Queued(lease.allocation, now, replayed)
    return Placed(lease.allocation, now, replayed, lease.members)


async def remember(tx: Tx, asks: Sequence[Ask], outcomes: Mapping[str, Decided]) -> None:
    """The answer to a key is its allocation, of who waits here, of who is placed with it; or what
    was refused, without the explanation, which is of that moment."""
    queued = [ask for ask in asks if isinstance(outcomes[ask.id], Queued)]
    refusals = [_refusal(ask, outcomes[ask.id]) for ask in asks if ask.key is not None]
    given = [one for one in refusals if one is not None]
    await idempotency.record_answers(tx, [*keyed(queued), *given])


def _refusal(ask: Ask, outcome: Decided) -> Given | None:
    """What is remembered for a key, if it was decided that this is refused."""
    refusal = _bare(outcome) if isinstance(outcome, Unplaced) else outcome
    if not isinstance(refusal, Problem) or refusal.status not in idempotency.DECIDED:
        return None
    body = idempotency.stored(refusal)
    return Given(ask.actor, ask.key or "", ask.fingerprint, refusal.status, body)


def _bare(one: Unplaced) -> Problem:
    return Conflict(
        _detail(one),
        code="sku_unavailable",
        suggestion="ask again with a new Idempotency-Key: this one has its answer",
        extras={"never": one.refusal.never},
    )


def unavailable(one: Unplaced, fleet: Fleet, leeway: Leeway, leases: Sequence[Lease]) -> Problem:
    """Fail closed, and say why: every rule with the nodes it removed, and what would fit."""
    want, refusal, request = one.want, one.refusal, one.want.request
    found = solver.explain(request, fleet, leeway)
    ends = () if refusal.never else estimates.waiting_for(request, fleet, leases)
    explanation: dict[str, object] = {
        "considered": refusal.considered,
        "rejections": refusal.rejections,
        "policy": solver.POLICY,
        "policy_revision": want.policy_revision,
        "fleet_revision": fleet.revision,
        "near": [asdict(miss) for miss in found.near],
        "changes": [_told(change, want) for change in found.changes],
        "after": _ends(ends, want.project.tenant_id),
    }
    if refusal.never:
        explanation["never"] = refusal.why
    if request.nodes > 1:
        explanation["gang"] = _gang(request, fleet)
    return Conflict(
        _detail(one),
        code="sku_unavailable",
        suggestion=_suggestion(one, found.changes, ends),
        extras={"never": refusal.never, "explanation": explanation},
    )


def _gang(request: Request, fleet: Fleet) -> dict[str, int]:
    """How many of its nodes could be had together, so at one site, and how many are missing."""
    by_site = availability.count(replace(request, nodes=1), fleet)
    found = max(by_site.values(), default=0)
    return {"nodes": request.nodes, "found": found, "missing": max(0, request.nodes - found)}


def _detail(one: Unplaced) -> str:
    refusal, request = one.refusal, one.want.request
    if refusal.never:
        return f"this can never be placed as the fleet is: {refusal.why}"
    if one.kept:
        return f"what has room for {request.gpus} {request.family} is kept for those who wait"
    if request.nodes > 1:
        return (
            f"no site has {request.nodes} whole {request.family} nodes of {request.gpus} GPUs "
            "free together now"
        )
    plural = "s" if request.gpus > 1 else ""
    return f"no node can take {request.gpus} {request.family} GPU{plural} as {request.shape} now"


def _suggestion(one: Unplaced, changes: Sequence[Change], ends: Sequence[Lease]) -> str:
    """Only what is true: waiting is named if it would help."""
    if changes:
        return f"it would fit {changes[0].what}"
    if one.kept:
        return f"ask with {WAITING} to wait as well"
    if not ends:
        known = "" if one.refusal.never else "no lease is known whose end would make room; "
        return f"{known}ask for another SKU, or the platform for more capacity or another policy"
    own = [lease.id for lease in ends if lease.tenant == one.want.project.tenant_id]
    which = f"{own[0]} to end" if own else "a lease to end"
    return f"ask with {WAITING} to wait for {which}, or for another SKU"


def _told(change: Change, want: Want) -> dict[str, object]:
    return {
        "kind": change.kind,
        "what": change.what,
        "gpus": change.request.gpus,
        "nodes": change.request.nodes,
        "site": change.site_id,
        "family": change.request.family,
        "sku": change.sku or want.sku.name,
        "node": change.node_id,
    }


def _ends(leases: Sequence[Lease], tenant: TenantId) -> dict[str, object]:
    """After whose end it would fit. Others' leases are counted, and not named."""
    own = [lease.id for lease in leases if lease.tenant == tenant]
    return {"leases": own, "others": len(leases) - len(own)}
