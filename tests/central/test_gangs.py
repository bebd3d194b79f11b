"""A lease of several whole nodes, as its tenant sees it: one lease, from asking to proven clean."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock_contracts import wire_pb2 as wire

from . import stand_in_site
from .conftest import catalog
from .plane import Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


@pytest.fixture
async def site(central: Central, tmp_path: Path) -> AsyncGenerator[StandInSite, None]:
    """Three nodes of 8 GPUs. Whatever a test did, the invariants hold after it."""
    async with stand_in_site.connected(central, tmp_path / "site", nodes=3) as joined:
        await catalog(central)
        yield joined
        assert await central.violations() == {}


async def gang(tenant: Tenant, nodes: int = 2, **body: object) -> Json:
    return await tenant.member.made(
        "/v1/allocations", project="main", sku="h100.metal", nodes=nodes, **body
    )


def ids(lease: Json) -> list[str]:
    return [member["id"] for member in lease["members"]]


async def get(tenant: Tenant, id: str) -> Json:
    return (await tenant.member.get(f"/v1/allocations/{id}")).json


async def activate(site: StandInSite, lease: Json) -> None:
    for id in ids(lease):
        await site.observe(await site.order(id), wire.OBSERVED_ACTIVE)


async def clean(site: StandInSite, id: str) -> None:
    order = await site.order(id, revision=2)
    assert order.desired == wire.DESIRED_RELEASED
    await site.observe(order, wire.OBSERVED_STOPPING)
    await site.clean(order)


async def test_a_gang_is_one_lease_of_as_many_nodes(site: StandInSite, tenant: Tenant) -> None:
    lease = await gang(tenant)
    assert (lease["status"], lease["nodes"], lease["gpus"]) == ("placed", 2, 8)
    assert lease["gang"] == lease["id"] == ids(lease)[0]
    assert lease["node"] == lease["members"][0]["node"]
    assert len({member["node"] for member in lease["members"]}) == 2
    assert [len(member["slots"]) for member in lease["members"]] == [9, 9]
    shown = await get(tenant, lease["id"])
    assert shown["members"] == lease["members"]
    (listed,) = (await tenant.member.get("/v1/allocations")).items
    assert (listed["id"], listed["members"]) == (lease["id"], lease["members"])
    member = await get(tenant, ids(lease)[1])
    assert (member["gang"], member["nodes"], member["members"]) == (lease["id"], 1, [])
    orders = [await site.order(id) for id in ids(lease)]
    assert [order.node_id for order in orders] == [m["node"] for m in lease["members"]]
    fences = {slot.fence for order in orders for slot in order.slots}
    assert len(fences) == 2, "each member has a line of the fleet's log, and its revision as fence"


async def test_it_is_active_when_all_are_and_released_when_all_are(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await gang(tenant)
    first, second = ids(lease)
    await site.observe(await site.order(second), wire.OBSERVED_ACTIVE)
    assert (await get(tenant, lease["id"]))["status"] == "placed"
    await site.observe(await site.order(first), wire.OBSERVED_ACTIVE)
    active = await get(tenant, lease["id"])
    assert (active["status"], active["observed"]) == ("active", "active")
    usage = (await tenant.member.get("/v1/usage", allocation=lease["id"])).items
    assert {segment["allocation"] for segment in usage} == {first, second}

    released = await tenant.member.post(f"/v1/allocations/{second}/release")
    assert (released.status, released.json["status"]) == (202, "releasing")
    shown = await get(tenant, lease["id"])
    assert [member["status"] for member in shown["members"]] == ["releasing", "releasing"]
    again = (await tenant.member.post(f"/v1/allocations/{lease['id']}/release")).json
    assert again["states"]["desired"]["revision"] == 2, "asking again changes nothing"
    await clean(site, first)
    assert (await get(tenant, first))["status"] == "releasing", "the lease: one is not clean"
    await clean(site, second)
    assert (await get(tenant, lease["id"]))["status"] == "released"

    happened = (await tenant.member.get(f"/v1/allocations/{lease['id']}/timeline")).items
    told = [event["data"]["status"] for event in happened if event["type"] == "gang.changed"]
    assert told == ["active", "releasing", "released"]
    assert {event["subject"] for event in happened} == {first, second}
    (placed,) = [event for event in happened if event["type"] == "gang.placed"]
    assert (placed["subject"], placed["data"]["members"]) == (first, [first, second])


@pytest.mark.parametrize("was_active", [False, True])
async def test_when_one_fails_all_are_given_back_and_can_be_used_again(
    central: Central, site: StandInSite, tenant: Tenant, was_active: bool
) -> None:
    lease = await gang(tenant, 3)
    if was_active:
        await activate(site, lease)
    lead, one, failing = ids(lease)
    await site.observe(await site.order(failing), wire.OBSERVED_FAILED, reason="it did not boot")
    failed = await get(tenant, lease["id"])
    assert (failed["status"], failed["reason"]) == ("failed", "it did not boot")
    assert [m["status"] for m in failed["members"]] == ["releasing", "releasing", "failed"]
    assert {m["desired"] for m in failed["members"]} == {"released"}
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.metal", gpus=8)
    assert refused.code == "sku_unavailable", "nothing is free before its cleanup is proven"
    audited = await central.rows(
        "SELECT reason FROM audit_entries WHERE action = 'allocation.release' AND subject = $1", one
    )
    assert audited[0]["reason"] == f"{failing} of the same gang failed: it did not boot"
    assert await central.violations() == {}
    await clean(site, lead)
    await clean(site, one)
    await site.clean(await site.order(failing, revision=2))
    over = await get(tenant, lease["id"])
    assert [m["status"] for m in over["members"]] == ["released", "released", "failed"]
    assert not await central.value("SELECT count(*) FROM claims WHERE freed_at IS NULL")
    assert (await central.value("SELECT count(*) FROM cleanup_proofs")) == 27
    assert (await gang(tenant, 3))["status"] == "placed"


async def test_a_member_that_fails_while_it_is_released_changes_no_other(
    site: StandInSite, tenant: Tenant
) -> None:
    lease = await gang(tenant)
    lead, other = ids(lease)
    order = await site.order(other)
    await tenant.member.made(f"/v1/allocations/{lead}/release")
    await site.order(other, revision=2)
    await site.observe(order, wire.OBSERVED_FAILED, reason="too late")
    shown = await get(tenant, lead)
    assert shown["status"] == "failed"
    assert [m["status"] for m in shown["members"]] == ["releasing", "failed"]
    assert (await site.order(lead)).revision == 2


async def test_a_blocked_cleanup_is_the_leases_and_is_abandoned_by_itself(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await gang(tenant)
    lead, stuck = ids(lease)
    await tenant.member.made(f"/v1/allocations/{lead}/release")
    await clean(site, lead)
    await site.clean(await site.order(stuck, revision=2), [])
    shown = await get(tenant, lead)
    assert (shown["status"], shown["members"][0]["status"]) == ("cleanup_blocked", "released")
    assert "no proof came" in shown["reason"]
    await central.platform.made(f"/v1/allocations/{stuck}/abandon", reason="it burnt")
    assert (await get(tenant, lead))["status"] == "abandoned"
    held = (await tenant.member.get("/v1/allocations", status="abandoned")).items
    assert [one["id"] for one in held] == [lead]
    await site.clean(await site.order(stuck, revision=3))
    assert (await get(tenant, lead))["status"] == "released"


async def test_lists_are_filtered_by_what_the_whole_gang_is(
    site: StandInSite, tenant: Tenant
) -> None:
    lease = await gang(tenant)
    one = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)

    async def with_status(status: str) -> list[str]:
        found = (await tenant.member.get("/v1/allocations", status=status)).items
        return [each["id"] for each in found]

    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    assert await with_status("active") == [], "its other member is not"
    assert await with_status("placed") == [lease["id"], one["id"]]
    await site.observe(await site.order(ids(lease)[1]), wire.OBSERVED_ACTIVE)
    assert await with_status("active") == [lease["id"]]


async def test_it_is_nobody_elses(central: Central, site: StandInSite, tenant: Tenant) -> None:
    lease = await gang(tenant)
    other = await central.tenant("other")
    for id in ids(lease):
        for path in ("", "/timeline", "/receipt", "/receipt/replay"):
            assert (await other.admin.get(f"/v1/allocations/{id}{path}")).status == 404
        assert (await other.admin.post(f"/v1/allocations/{id}/release")).status == 404
    assert (await other.admin.get("/v1/allocations")).items == []
    assert (await other.admin.get("/v1/usage", allocation=lease["id"])).items == []
    assert (await get(tenant, lease["id"]))["status"] == "placed"


async def test_its_refusal_says_how_many_there_are_and_how_many_are_missing(
    site: StandInSite, tenant: Tenant
) -> None:
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    asked = {"project": "main", "sku": "h100.metal", "nodes": 3}
    refused = await tenant.member.post("/v1/allocations", **asked)
    assert (refused.status, refused.code) == (409, "sku_unavailable")
    assert refused.json["detail"] == "no site has 3 whole h100 nodes of 8 GPUs free together now"
    assert refused.json["explanation"]["gang"] == {"nodes": 3, "found": 2, "missing": 1}
    assert refused.json["suggestion"] == "it would fit with 2 nodes"
    never = await tenant.member.post("/v1/allocations", **{**asked, "nodes": 4})
    assert never.json["never"] is True
    assert "the most is 3" in never.json["detail"]


async def test_the_same_key_is_answered_with_the_same_gang(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    body = {"project": "main", "sku": "h100.metal", "nodes": 2}
    first = await tenant.member.post_once("k", "/v1/allocations", **body)
    again = await tenant.member.post_once("k", "/v1/allocations", **body)
    assert (first.status, again.status) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["members"] == first.json["members"]
    other = await tenant.member.post_once("k", "/v1/allocations", **{**body, "nodes": 3})
    assert other.status in (409, 422), other.json
    assert await central.value("SELECT count(*) FROM allocations") == 2


async def test_each_member_replays_to_itself(site: StandInSite, tenant: Tenant) -> None:
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    lease = await gang(tenant)
    for member in lease["members"]:
        path = f"/v1/allocations/{member['id']}/receipt"
        receipt = (await tenant.member.get(path)).json
        assert receipt["request"]["nodes"] == 2
        assert receipt["nodes"] == [each["node"] for each in lease["members"]]
        assert receipt["node"] == member["node"]
        assert [slot["slot_id"] for slot in receipt["slots"]] == member["slots"]
        assert (await tenant.member.get(f"{path}/replay")).json["same"] is True
