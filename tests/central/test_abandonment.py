"""A release that cannot end is abandoned: quota returned, slots blocked until they are proven."""

from datetime import datetime
from typing import Any

import asyncpg
import pytest

from penstock_contracts import wire_pb2 as wire

from .plane import Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

WHY = "its rack burned down"


async def releasing(site: StandInSite, tenant: Tenant, *, stopped: bool = True) -> Json:
    """A lease whose release was asked for, and whose node is never heard of again."""
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    if stopped:
        await site.observe(await site.order(lease, revision=2), wire.OBSERVED_STOPPING)
    return lease


async def abandon(central: Central, lease: Json) -> Json:
    return await central.platform.made(f"/v1/allocations/{lease['id']}/abandon", reason=WHY)


async def states(central: Central, lease: Json) -> list[tuple[str, str]]:
    seen = [(await central.platform.get(f"/v1/slots/{slot}")).json for slot in lease["slots"]]
    return [(slot["state"], slot["reason"]) for slot in seen]


async def held(central: Central) -> int:
    return int(await central.value("SELECT coalesce(sum(gpus), 0) FROM gpus_held"))


async def test_an_abandoned_lease_returns_its_quota_and_keeps_its_slots_blocked(
    central: Central, site: StandInSite
) -> None:
    tenant = await central.tenant("acme", gpus_max=2)
    lease = await releasing(site, tenant)
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    assert refused.code == "quota_exceeded", "what is being cleaned counts"

    abandoned = await abandon(central, lease)
    assert abandoned["status"] == "abandoned"
    assert WHY in abandoned["reason"]
    seen = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
    assert (seen["status"], seen["observed"]) == ("abandoned", "stopping")
    listed = await tenant.member.get("/v1/allocations", status="abandoned")
    assert [one["id"] for one in listed.items] == [lease["id"]]
    assert (
        await states(central, lease)
        == [("cleanup_blocked", f"its release was abandoned: {WHY}")] * 2
    )
    assert await held(central) == 0
    assert await central.violations() == {}

    other = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    assert not set(other["slots"]) & set(lease["slots"]), "its slots are nobody's"
    assert await central.violations() == {}


async def test_a_node_that_comes_back_cleans_up_and_its_proof_frees_the_slots(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await releasing(site, tenant)
    before = await site.order(lease, revision=2)
    await abandon(central, lease)
    asked = await site.order(lease, revision=3)
    assert asked.desired == wire.DESIRED_RELEASED
    old, new = before.slots[0].cleanup_nonce, asked.slots[0].cleanup_nonce
    assert old != new, "only a proof that is made from now on counts"
    await site.clean(before)
    assert [state for state, _ in await states(central, lease)] == ["cleanup_blocked"] * 2
    await site.observe(asked, wire.OBSERVED_RELEASED)
    await site.clean(asked)
    assert [state for state, _ in await states(central, lease)] == ["approved"] * 2
    seen = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
    assert seen["status"] == "released"
    assert await held(central) == 0
    assert await central.violations() == {}


async def test_a_lease_that_nobody_heard_stop_is_billed_until_its_release_was_asked_for(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await central.platform.made(
        f"/v1/tenants/{tenant.id}/credits", amount_micros=10**9, currency="USD", reason="paid"
    )
    lease = await releasing(site, tenant, stopped=False)
    asked_at = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json["states"]
    await abandon(central, lease)
    (used,) = (await tenant.member.get("/v1/usage", allocation=lease["id"])).items
    ended = datetime.fromisoformat(used["to"])
    assert ended == datetime.fromisoformat(asked_at["desired"]["at"])
    assert await central.violations() == {}

    late = await site.order(lease, revision=3)
    await site.observe(late, wire.OBSERVED_STOPPING)
    await site.observe(late, wire.OBSERVED_ACTIVE)
    (still,) = (await tenant.member.get("/v1/usage", allocation=lease["id"])).items
    assert still == used, "what comes late changes no bill"
    assert await central.violations() == {}


async def test_a_lease_that_was_never_heard_of_is_abandoned_without_a_bill(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.metal")
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    await abandon(central, lease)
    assert (await tenant.member.get("/v1/usage", allocation=lease["id"])).items == []
    await site.observe(await site.order(lease, revision=3), wire.OBSERVED_ACTIVE)
    assert (await tenant.member.get("/v1/usage", allocation=lease["id"])).items == []
    nodes = await central.value("SELECT sum(nodes) FROM gpus_held")
    assert nodes == 0
    assert await central.violations() == {}


async def test_its_evidence_is_kept_and_told_and_asking_again_changes_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await releasing(site, tenant)
    gone = wire.NodePresence(
        node_id=lease["node"], connected=False, reason="its link does not hold"
    )
    await site.report(wire.SiteReport(presence=gone))
    await abandon(central, lease)
    again = await central.platform.post(
        f"/v1/allocations/{lease['id']}/abandon", reason="once more"
    )
    assert (again.status, again.json["status"]) == (202, "abandoned")
    (kept,) = await central.rows("SELECT * FROM abandonments")
    assert (kept["reason"], kept["allocation_id"]) == (WHY, lease["id"])
    evidence: dict[str, Any] = kept["evidence"]
    assert (evidence["observed"], evidence["status"]) == ("stopping", "releasing")
    assert (evidence["node_connected"], evidence["node_away_reason"]) == (
        False,
        "its link does not hold",
    )
    assert [slot["slot"] for slot in evidence["slots"]] == lease["slots"]
    (entry,) = await central.rows("SELECT * FROM audit_entries WHERE action = 'allocation.abandon'")
    assert (entry["reason"], entry["detail"]["evidence"]) == (WHY, evidence)
    timeline = (await tenant.member.get(f"/v1/allocations/{lease['id']}/timeline")).items
    assert [event["type"] for event in timeline][-1] == "allocation.abandoned"


async def test_only_a_release_is_abandoned(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    path = f"/v1/allocations/{lease['id']}"
    active = await central.platform.post(f"{path}/abandon", reason=WHY)
    assert (active.status, active.code) == (409, "not_releasing")
    await tenant.member.made(f"{path}/release")
    assert (await central.platform.post(f"{path}/abandon")).status == 422, "a reason is needed"
    assert (await tenant.admin.post(f"{path}/abandon", reason=WHY)).status == 403
    await site.clean(await site.order(lease, revision=2))
    released = await central.platform.post(f"{path}/abandon", reason=WHY)
    assert (released.status, "it holds nothing" in released.json["detail"]) == (409, True)


async def test_a_blocked_or_failed_lease_can_be_abandoned_too(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    blocked = await releasing(site, tenant)
    await site.clean(await site.order(blocked, revision=2), proofs=[])
    assert (await abandon(central, blocked))["status"] == "abandoned"
    failed = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    await site.observe(await site.order(failed), wire.OBSERVED_FAILED, reason="no boot")
    seen = await abandon(central, failed)
    assert seen["status"] == "failed", "that is what became of it"
    assert await held(central) == 0
    assert await central.violations() == {}


@pytest.mark.parametrize(
    "forbidden",
    [
        "UPDATE allocations SET abandoned_at = now()",
        "DELETE FROM abandonments",
        "UPDATE abandonments SET reason = 'another'",
    ],
)
async def test_the_database_abandons_nothing_without_evidence(
    central: Central, site: StandInSite, tenant: Tenant, forbidden: str
) -> None:
    await abandon(central, await releasing(site, tenant))
    await releasing(site, tenant)
    refusals = (asyncpg.IntegrityConstraintViolationError, asyncpg.InsufficientPrivilegeError)
    with pytest.raises(refusals):
        await central.execute(forbidden)
