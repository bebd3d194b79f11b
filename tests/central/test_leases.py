"""The life of a lease, as its tenant and its operator see it, driven by reports alone."""

import pytest

from penstock_contracts import wire_pb2 as wire

from .plane import Central, Tenant
from .stand_in_site import StandInSite, now_us

pytestmark = pytest.mark.anyio


async def test_a_lease_lives_by_what_its_site_reports(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    member = tenant.member
    lease = await member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    path = f"/v1/allocations/{lease['id']}"
    assert lease["status"] == "placed"
    assert (lease["desired"], lease["observed"], lease["execution"]) == (
        "active",
        "nothing",
        "idle",
    )
    assert len(lease["slots"]) == 2

    order = await site.order(lease)
    assert order.desired == wire.DESIRED_ACTIVE
    assert [slot.slot_id for slot in order.slots] == lease["slots"]
    await site.step(order, "realize", "provision")
    stepped = (await member.get(path)).json
    assert stepped["execution"] == "realize.provision done"
    assert stepped["status"] == "placed"

    await site.observe(order, wire.OBSERVED_ACTIVE)
    active = (await member.get(path)).json
    assert (active["status"], active["observed"]) == ("active", "active")
    states = active["states"]
    assert set(states) == {"desired", "observed", "execution", "projected"}
    assert all(state["age_s"] is not None and state["age_s"] >= 0 for state in states.values())
    assert await central.violations() == {}

    released = await member.post(f"{path}/release")
    assert released.status == 202
    assert released.json["status"] == "releasing"
    again = await member.post(f"{path}/release")
    assert again.json["states"]["desired"]["revision"] == 2

    asked = await site.order(lease, revision=2)
    assert asked.desired == wire.DESIRED_RELEASED
    assert all(len(slot.cleanup_nonce) == 16 for slot in asked.slots)
    await site.observe(asked, wire.OBSERVED_STOPPING)
    assert (await member.get(path)).json["status"] == "releasing"
    await site.observe(asked, wire.OBSERVED_RELEASED)
    assert (await member.get(path)).json["status"] == "releasing", "only a proof ends it"
    await site.clean(asked)
    assert (await member.get(path)).json["status"] == "released"
    assert await central.violations() == {}

    happened = [event["type"] for event in (await member.get(f"{path}/timeline")).items]
    assert happened[0] == "allocation.placed"
    assert happened[-1] == "allocation.released"
    for fact in ("allocation.stepped", "usage.begun", "slot.cleanup_proven"):
        assert fact in happened


async def test_the_receipt_says_why_it_is_where_it_is(site: StandInSite, tenant: Tenant) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=4)
    receipt = (await tenant.member.get(f"/v1/allocations/{lease['id']}/receipt")).json
    assert receipt["node"] == lease["node"]
    assert [slot["slot_id"] for slot in receipt["slots"]] == lease["slots"]
    assert receipt["request"]["gpus"] == 4
    assert receipt["candidates"][0]["node"] == lease["node"]
    assert set(receipt["rejections"]) >= {"site_allowed", "schedulable", "free_enough"}


async def test_what_could_not_be_realized_failed_and_is_cleaned(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    order = await site.order(lease)
    await site.observe(order, wire.OBSERVED_FAILED, reason="the VM did not boot")
    failed = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
    assert (failed["status"], failed["reason"]) == ("failed", "the VM did not boot")
    node = (await central.platform.get(f"/v1/nodes/{lease['node']}")).json
    assert node["gpus_free"] == 7, "a failed lease holds its slot until cleanup is proven"
    await site.clean(await site.order(lease, revision=2))
    node = (await central.platform.get(f"/v1/nodes/{lease['node']}")).json
    assert node["gpus_free"] == 8
    assert await central.violations() == {}


async def test_baremetal_takes_the_whole_node_and_excludes_slices(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.metal")
    assert len(lease["slots"]) == 9
    node = (await central.platform.get(f"/v1/nodes/{lease['node']}")).json
    assert node["posture"] == "exclusively_allocated_by_baremetal"
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice")
    assert (refused.status, refused.code) == (409, "sku_unavailable")


async def test_no_room_is_explained_with_the_nearest_that_fits(
    site: StandInSite, tenant: Tenant
) -> None:
    for _ in range(3):
        await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=4)
    assert (refused.status, refused.code) == (409, "sku_unavailable")
    explanation = refused.json["explanation"]
    assert explanation["considered"] == 1
    assert explanation["rejections"]["free_enough"] == 1
    assert sum(explanation["rejections"].values()) == explanation["considered"]
    assert explanation["changes"][0]["gpus"] == 2
    assert "would fit with 2 GPUs" in refused.json["suggestion"]
    suggested = explanation["changes"][0]["gpus"]
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=suggested)


async def test_no_room_names_the_lease_whose_end_would_make_some(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """To its own tenant; to others it is one of so many."""
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.metal")
    ask = {"project": "main", "sku": "h100.metal"}
    refused = await tenant.member.post("/v1/allocations", **ask)
    assert refused.json["explanation"]["after"] == {"leases": [lease["id"]], "others": 0}
    assert f"wait for {lease['id']} to end" in refused.json["suggestion"]
    stranger = await central.tenant("stranger")
    theirs = await stranger.member.post("/v1/allocations", **ask)
    assert theirs.json["explanation"]["after"] == {"leases": [], "others": 1}
    assert lease["id"] not in str(theirs.json)


async def test_a_tenant_cannot_hold_more_than_its_quota(
    central: Central, site: StandInSite
) -> None:
    small = await central.tenant("small", gpus_max=2)
    lease = await small.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    refused = await small.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    assert (refused.json["limit"], refused.json["used"]) == (2, 2)
    await small.member.made(f"/v1/allocations/{lease['id']}/release")
    still = await small.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert still.code == "quota_exceeded", "what is being cleaned is still held"
    await site.clean(await site.order(lease, revision=2))
    await small.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)


async def test_a_draining_node_takes_nothing_new_and_keeps_what_it_has(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    path = f"/v1/nodes/{lease['node']}"
    drained = await central.platform.made(f"{path}/drain", reason="a fan is loud")
    assert (drained["posture"], drained["posture_reason"]) == ("draining", "a fan is loud")
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert refused.code == "sku_unavailable"
    assert refused.json["explanation"]["rejections"]["schedulable"] == 1
    assert (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json["status"] == "placed"
    await central.platform.made(f"{path}/undrain")
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)


async def test_a_node_that_left_takes_nothing_new(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    node = next(iter(site.nodes.values()))
    away = wire.NodePresence(node_id=node.id, connected=False, at_us=now_us())
    await site.report(wire.SiteReport(presence=away))
    refused = await tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert refused.code == "sku_unavailable"
    shown = (await central.platform.get(f"/v1/nodes/{node.id}")).json
    assert (shown["posture"], shown["connected"]) == ("unavailable", False)


async def test_a_key_answers_once(site: StandInSite, tenant: Tenant) -> None:
    ask = {"project": "main", "sku": "h100.slice", "gpus": 1}
    first = await tenant.member.post_once("k1", "/v1/allocations", **ask)
    again = await tenant.member.post_once("k1", "/v1/allocations", **ask)
    assert first.json["id"] == again.json["id"]
    assert again.headers["idempotency-replayed"] == "true"
    changed = await tenant.member.post_once("k1", "/v1/allocations", **{**ask, "gpus": 2})
    assert (changed.status, changed.code) == (409, "idempotency_key_reused")
    other = await tenant.admin.post_once("k1", "/v1/allocations", **ask)
    assert other.json["id"] != first.json["id"], "a key belongs to its caller"


async def test_a_refusal_stays_the_answer_to_its_key_though_there_is_room_now(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """The same request may still be on its way, to another replica: it must not be placed after
    its caller was told no."""
    await central.platform.put("/v1/quotas", tenant=tenant.id, gpus_max=0)
    asks: dict[str, dict[str, object]] = {
        "no-quota": {"project": "main", "sku": "h100.slice", "gpus": 1},
        "impossible": {"project": "main", "sku": "h100.slice", "gpus": 3},
        "no-project": {"project": "later", "sku": "h100.slice", "gpus": 1},
    }
    post = tenant.member.post_once
    first = {key: await post(key, "/v1/allocations", **ask) for key, ask in asks.items()}
    await central.platform.put("/v1/quotas", tenant=tenant.id, gpus_max=8)
    await tenant.admin.made("/v1/projects", name="later")
    for key, ask in asks.items():
        again = await post(key, "/v1/allocations", **ask)
        assert (again.status, again.code) == (first[key].status, first[key].code)
        assert again.json["detail"] == first[key].json["detail"]
        assert again.headers["idempotency-replayed"] == "true"
    assert (await post("new", "/v1/allocations", **asks["no-quota"])).status == 201


async def test_a_lack_of_room_stays_the_answer_to_its_key(
    site: StandInSite, tenant: Tenant
) -> None:
    whole = await tenant.member.made("/v1/allocations", project="main", sku="h100.metal")
    ask = {"project": "main", "sku": "h100.slice", "gpus": 1}
    refused = await tenant.member.post_once("k", "/v1/allocations", **ask)
    assert (refused.status, refused.code) == (409, "sku_unavailable")
    await tenant.member.made(f"/v1/allocations/{whole['id']}/release")
    await site.clean(await site.order(whole, revision=2))
    again = await tenant.member.post_once("k", "/v1/allocations", **ask)
    assert (again.status, again.code) == (409, "sku_unavailable")
    assert again.json["detail"] == refused.json["detail"]
    assert (await tenant.member.post_once("new", "/v1/allocations", **ask)).status == 201


async def test_a_refused_change_stays_the_answer_to_its_key(tenant: Tenant) -> None:
    group = await tenant.admin.made("/v1/groups", name="team")
    refused = await tenant.admin.post_once("k", "/v1/groups", name="team")
    assert refused.status == 409
    await tenant.admin.delete(f"/v1/groups/{group['id']}")
    again = await tenant.admin.post_once("k", "/v1/groups", name="team")
    assert (again.status, again.code) == (409, refused.code)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/problem+json"
    assert (await tenant.admin.post_once("new", "/v1/groups", name="team")).status == 201
