"""Waiting for room, as tenants and operators see it over HTTP."""

import pytest

from penstock_contracts import wire_pb2 as wire

from .plane import Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


async def lease(tenant: Tenant, gpus: int = 4, **body: object) -> Json:
    asked = {"project": "main", "sku": "h100.slice", "gpus": gpus, **body}
    return await tenant.member.made("/v1/allocations", **asked)


async def give_back(site: StandInSite, tenant: Tenant, held: Json) -> None:
    await tenant.member.made(f"/v1/allocations/{held['id']}/release")
    await site.clean(await site.order(held, revision=2))


async def show(tenant: Tenant, made: Json) -> Json:
    return (await tenant.member.get(f"/v1/allocations/{made['id']}")).json


@pytest.fixture
async def held(site: StandInSite, tenant: Tenant) -> list[Json]:
    """All eight GPUs are acme's."""
    return [await lease(tenant), await lease(tenant)]


async def test_who_waits_is_placed_in_order_when_leases_end(
    central: Central, site: StandInSite, tenant: Tenant, held: list[Json]
) -> None:
    other = await central.tenant("other")
    mine = await lease(tenant, queue=True)
    theirs = await lease(other, queue=True)
    assert (mine["status"], mine["node"], mine["site"], mine["slots"]) == ("queued", None, None, [])
    assert mine["estimate"]["position"] == 1
    # It holds nothing, so it comes first by share; but the one before it keeps its turn.
    assert theirs["estimate"]["position"] == 2
    queued = (await tenant.member.get("/v1/allocations", status="queued")).items
    assert [item["id"] for item in queued] == [mine["id"]]

    await give_back(site, tenant, held[0])
    order = await site.order(mine)
    assert (order.revision, len(order.slots)) == (1, 4)
    placed = await show(tenant, mine)
    assert (placed["status"], placed["estimate"], len(placed["slots"])) == ("placed", None, 4)
    assert (await show(other, theirs))["status"] == "queued"
    await site.observe(order, wire.OBSERVED_ACTIVE)
    assert (await show(tenant, mine))["status"] == "active"

    await give_back(site, tenant, held[1])
    await site.order(theirs)
    assert (await show(other, theirs))["status"] == "placed"
    assert await central.violations() == {}


async def test_a_tenant_is_told_which_of_its_own_leases_it_waits_for_and_no_others(
    central: Central, tenant: Tenant, held: list[Json]
) -> None:
    other = await central.tenant("other")
    mine, theirs = await lease(tenant, queue=True), await lease(other, queue=True)
    names = {lease["id"] for lease in held}
    assert mine["estimate"]["waiting_for"] == "leases"
    assert set(mine["estimate"]["leases"]) <= names
    assert len(mine["estimate"]["leases"]) == 1
    assert theirs["estimate"]["leases"] == []
    assert theirs["estimate"]["leases_of_others"] == 1
    seen = (await central.platform.get(f"/v1/allocations/{theirs['id']}")).json["estimate"]
    assert set(seen["leases"]) <= names
    assert seen["leases_of_others"] == 0
    hidden = await other.admin.get(f"/v1/allocations/{theirs['id']}")
    assert not [name for name in names if name in hidden.raw.decode()]


async def test_a_planned_end_gives_those_who_wait_a_time(site: StandInSite, tenant: Tenant) -> None:
    ends_at = "2999-01-01T00:00:00Z"
    planned = await lease(tenant, ends_at=ends_at)
    assert planned["ends_at"] == ends_at
    await lease(tenant)
    waiting = await lease(tenant, queue=True)
    assert waiting["estimate"] == {
        "position": 1, "at": ends_at, "waiting_for": "leases", "leases": [planned["id"]],
        "leases_of_others": 0,
    }  # fmt: skip


async def test_releasing_a_lease_that_waits_cancels_it(
    central: Central, tenant: Tenant, held: list[Json]
) -> None:
    waiting = await lease(tenant, queue=True, queue_for_s=60)
    path = f"/v1/allocations/{waiting['id']}"
    receipt = await tenant.member.get(f"{path}/receipt")
    assert (receipt.status, receipt.code) == (409, "not_placed")
    refused = await tenant.viewer.post(f"{path}/release")
    assert refused.status == 403
    cancelled = await tenant.member.post(f"{path}/release")
    assert cancelled.status == 202
    assert (cancelled.json["status"], cancelled.json["reason"]) == (
        "released",
        "cancelled while waiting",
    )
    happened = [event["type"] for event in (await tenant.member.get(f"{path}/timeline")).items]
    assert happened == ["allocation.queued", "allocation.cancelled"]
    assert (await tenant.member.get("/v1/usage", allocation=waiting["id"])).items == []
    assert await central.violations() == {}


async def test_a_member_cannot_jump_the_queue(tenant: Tenant, held: list[Json]) -> None:
    body = {"project": "main", "sku": "h100.slice", "queue": True, "priority": 51}
    refused = await tenant.member.post("/v1/allocations", **body)
    assert (refused.status, refused.code) == (403, "forbidden")
    low = await lease(tenant, 1, queue=True, priority=50)
    high = await tenant.admin.made("/v1/allocations", **body)
    assert high["priority"] == 51
    assert high["estimate"]["position"] == 1
    assert (await show(tenant, low))["estimate"]["position"] == 2


async def test_a_queued_ask_is_answered_again_by_its_key(tenant: Tenant, held: list[Json]) -> None:
    body: Json = {"project": "main", "sku": "h100.slice", "gpus": 1, "queue": True}
    first = await tenant.member.post_once("wait", "/v1/allocations", **body)
    again = await tenant.member.post_once("wait", "/v1/allocations", **body)
    assert (first.status, again.status) == (201, 201)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json["id"] == first.json["id"]
    assert again.json["status"] == "queued"
