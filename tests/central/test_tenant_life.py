"""A tenant's life: suspended it leases nothing new, resumed it does, and gone it is for good."""

import asyncio

import asyncpg
import pytest

from penstock.central.tenants.model import TRANSITIONS, Status
from penstock_contracts import wire_pb2 as wire

from .plane import Answer, Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

LEASE = {"project": "main", "sku": "h100.slice", "gpus": 1}


async def lease(tenant: Tenant, **changes: object) -> Answer:
    return await tenant.member.post("/v1/allocations", **{**LEASE, **changes})


async def say(central: Central, tenant: Tenant, verb: str, reason: str = "because") -> Answer:
    return await central.platform.post(f"/v1/tenants/{tenant.id}/{verb}", reason=reason)


async def free(site: StandInSite, lease: Json) -> None:
    """Stop and clean, as its node would once release was asked for."""
    order = await site.order(lease, revision=2)
    await site.observe(order, wire.OBSERVED_STOPPING)
    await site.clean(order)


def test_who_is_gone_stays_gone_and_who_leaves_does_not_come_back() -> None:
    assert TRANSITIONS[Status.OFFBOARDED] == set()
    assert TRANSITIONS[Status.OFFBOARDING] == {Status.OFFBOARDED}
    assert all(Status.ONBOARDING not in after for after in TRANSITIONS.values())


async def test_a_suspended_tenant_leases_nothing_new_and_keeps_what_it_has(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    held = (await lease(tenant)).json
    await site.observe(await site.order(held), wire.OBSERVED_ACTIVE)
    suspended = await say(central, tenant, "suspend", "invoice 7 is unpaid")
    assert (suspended.status, suspended.json["status"]) == (200, "suspended")
    for caller in (tenant.member, tenant.admin, central.platform):
        refused = await caller.post("/v1/allocations", **{**LEASE, "project": tenant.project})
        assert (refused.status, refused.code) == (403, "tenant_suspended")
        assert "suspended" in refused.json["detail"]
    seen = (await tenant.viewer.get(f"/v1/allocations/{held['id']}")).json
    assert seen["status"] == "active", "what runs goes on"
    own = (await tenant.viewer.get(f"/v1/tenants/{tenant.id}")).json
    assert (own["status"], own["status_reason"]) == ("suspended", "invoice 7 is unpaid")
    released = await tenant.member.post(f"/v1/allocations/{held['id']}/release")
    assert released.status == 202, "what it has may be given back"
    assert (await say(central, tenant, "resume")).json["status"] == "active"
    assert (await lease(tenant)).status == 201


async def test_a_stranger_is_not_told_of_a_suspension(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    await say(central, tenant, "suspend")
    answers = [
        await other.member.post("/v1/allocations", **{**LEASE, "project": project})
        for project in (tenant.project, "project_00000000000000000000000000")
    ]
    bodies = [
        {**answer.json, "correlation_id": "", "detail": "", "instance": ""} for answer in answers
    ]
    assert bodies[0] == bodies[1]
    assert {answer.status for answer in answers} == {404}


async def test_who_waits_when_its_tenant_is_suspended_waits_until_it_is_resumed(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    whole = {"sku": "h100.metal", "gpus": 8}
    held = (await lease(tenant, **whole)).json
    waits = (await lease(tenant, queue=True)).json
    assert waits["status"] == "queued"
    behind = (await lease(other, queue=True, **whole)).json
    await say(central, tenant, "suspend")
    await tenant.member.made(f"/v1/allocations/{held['id']}/release")
    await free(site, held)
    await central.until(behind["id"], "allocation.placed")
    assert (await tenant.viewer.get(f"/v1/allocations/{waits['id']}")).json["status"] == "queued"
    await other.member.made(f"/v1/allocations/{behind['id']}/release")
    await free(site, behind)
    await say(central, tenant, "resume")
    await central.until(waits["id"], "allocation.placed")


async def test_suspending_twice_is_once_and_a_reason_is_needed(
    central: Central, tenant: Tenant
) -> None:
    first = (await say(central, tenant, "suspend", "one")).json
    assert (await say(central, tenant, "suspend", "two")).json == first
    for reason in ("", "a\x00b", "x" * 501):
        refused = await say(central, tenant, "resume", reason)
        assert (refused.status, refused.code) == (422, "invalid")
    audited = await central.rows(
        "SELECT action, reason FROM audit_entries WHERE subject = $1 ORDER BY seq", tenant.id
    )
    assert {"action": "tenant.suspend", "reason": "one"} in audited
    assert len([entry for entry in audited if entry["action"] == "tenant.suspend"]) == 1
    was = "SELECT detail->'before'->>'status' FROM audit_entries WHERE action = 'tenant.suspend'"
    assert await central.value(was) == "active"


async def test_no_lease_slips_through_a_suspension(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """Whatever is placed was placed before the suspension was answered."""
    asks = [asyncio.create_task(lease(tenant)) for _ in range(6)]
    suspended = await say(central, tenant, "suspend")
    placed = [answer.json for answer in await asyncio.gather(*asks) if answer.status == 201]
    at = suspended.json["status_at"]
    late = await central.value(
        "SELECT count(*) FROM allocations WHERE created_at > $1::text::timestamptz", at
    )
    assert late == 0, placed


async def test_offboarding_ends_when_every_cleanup_is_proven(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    platform = central.platform
    for kind in ("vrf", "vlan"):
        await platform.made("/v1/pools", name=kind, kind=kind, first=7, last=7)
    await platform.made(f"/v1/tenants/{tenant.id}/network", vlans=1)
    (node,) = site.nodes
    await platform.send("PATCH", f"/v1/nodes/{node}", json={"reserved_for": tenant.id})
    leases = [(await lease(tenant)).json for _ in range(2)]
    waits = (await lease(tenant, sku="h100.metal", gpus=8, queue=True)).json
    for each in leases:
        await site.observe(await site.order(each), wire.OBSERVED_ACTIVE)
    left = await say(central, tenant, "offboard", "contract ended")
    assert (left.status, left.json["status"]) == (202, "offboarding")
    refused = await lease(tenant)
    assert (refused.status, refused.code) == (403, "tenant_offboarding")
    await central.until(waits["id"], "allocation.cancelled")
    await free(site, leases[0])
    await site.order(leases[1], revision=2)
    seen = (await platform.get(f"/v1/tenants/{tenant.id}")).json
    assert seen["status"] == "offboarding", "one lease is not proven clean"
    other = await central.tenant("other")
    refused = await platform.post(f"/v1/tenants/{other.id}/network", vlans=1)
    assert refused.code == "pool_exhausted", "its network is not free before it is gone"
    assert (await say(central, tenant, "resume")).code == "tenant_offboarding"

    await free(site, leases[1])
    await central.until(tenant.id, "tenant.offboarded")
    given = await platform.made(f"/v1/tenants/{other.id}/network", vlans=1)
    assert [each["value"] for each in given["items"]] == ["7", "7"], "now it may be another's"
    assert (await platform.get(f"/v1/nodes/{node}")).json["reserved_for"] is None
    assert await central.violations() == {}


async def test_who_is_gone_leaves_its_name_its_audit_and_its_bills(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    platform = central.platform
    credit = {"amount_micros": 10**10, "currency": "USD", "reason": "paid"}
    await platform.made(f"/v1/tenants/{tenant.id}/credits", **credit)
    held = (await lease(tenant)).json
    await site.observe(await site.order(held), wire.OBSERVED_ACTIVE)
    audited = await central.value("SELECT count(*) FROM audit_entries")
    await say(central, tenant, "offboard")
    await free(site, held)
    await central.until(tenant.id, "tenant.offboarded")
    assert (await tenant.viewer.get(f"/v1/tenants/{tenant.id}/balance")).json["prepaid"]
    assert len((await tenant.viewer.get("/v1/usage")).items) == 1
    assert await central.value("SELECT count(*) FROM audit_entries") > audited
    taken = await platform.post("/v1/tenants", name="acme")
    assert (taken.status, taken.code) == (409, "name_taken")
    file = {"tenant": "acme", "admin": {"email": "a@b.example"}}
    again = await platform.post("/v1/onboardings", **file)
    assert (again.status, again.code) == (409, "tenant_offboarded")
    assert (await say(central, tenant, "resume")).code == "tenant_offboarded"
    assert (await say(central, tenant, "offboard")).json["status"] == "offboarded", "once is enough"
    for path, body in (
        ("/v1/projects", {"name": "new"}),
        ("/v1/organizations", {"name": "new"}),
        (f"/v1/tenants/{tenant.id}/keys", {"name": "k", "role": "viewer"}),
        ("/v1/users/invite", {"email": "new@acme.example"}),
    ):
        refused = await tenant.admin.post(path, **body)
        assert (refused.status, refused.code) == (403, "tenant_offboarded"), path
    for path, body in (
        (f"/v1/tenants/{tenant.id}/placement", {"strategy": "spread"}),
        ("/v1/quotas", {"tenant": tenant.id, "gpus_max": 5}),
    ):
        refused = await platform.put(path, **body)
        assert (refused.status, refused.code) == (403, "tenant_offboarded"), path


async def test_a_tenant_without_leases_is_gone_at_once(central: Central, tenant: Tenant) -> None:
    await say(central, tenant, "offboard")
    await central.until(tenant.id, "tenant.offboarded")


async def test_nobody_of_the_tenant_decides_on_its_life(central: Central, tenant: Tenant) -> None:
    for verb in ("suspend", "resume", "offboard"):
        for api in tenant.apis.values():
            refused = await api.post(f"/v1/tenants/{tenant.id}/{verb}", reason="x")
            assert (refused.status, refused.code) == (403, "forbidden")


async def test_the_database_alone_keeps_a_tenant_that_holds_a_lease(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await lease(tenant)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="cannot be offboarded"):
        await central.execute("UPDATE tenants SET status = 'offboarded'")
