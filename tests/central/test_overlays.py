"""Policy reaches the solver: each overlay over HTTP, on a fleet of two sites."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock_contracts import wire_pb2 as wire

from . import two_sites
from .plane import Central, Json, Tenant
from .two_sites import Fleet

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fleet(central: Central, tenant: Tenant, tmp_path: Path) -> AsyncGenerator[Fleet, None]:
    async with two_sites.staged(central, tenant, tmp_path) as staged:
        yield staged


async def test_a_tenant_bound_to_a_site_goes_there_and_nowhere_else(fleet: Fleet) -> None:
    assert (await fleet.policy(sites=["us"]))["sites"] == [fleet.us.id]
    for _ in range(2):
        assert await fleet.placed(gpus=4) == "us-1"
    assert (await fleet.refused())["rejections"] == {"site_permitted": 2, "free_enough": 1}
    other = await fleet.central.tenant("other")
    assert await fleet.placed(other.member) in ("eu-1", "eu-2"), "another's policy is its own"


async def test_a_site_that_policy_does_not_list_is_unknown_to_the_tenant(fleet: Fleet) -> None:
    await fleet.policy(sites=["us"])
    answer = await fleet.ask(site="eu")
    assert (answer.status, answer.code) == (422, "unknown_site")
    told = await fleet.refused(fleet.central.platform, project=fleet.tenant.project, site="eu")
    assert told["never"] == "policy does not allow the site that is asked for"
    assert told["changes"][0]["what"] == f"at site {fleet.us.id}"
    assert await fleet.placed(site="us") == "us-1"


async def test_a_family_that_policy_does_not_list_is_never_placed(fleet: Fleet) -> None:
    await fleet.policy(families=["l40s", "b300"])
    assert (await fleet.refused())["never"] == "policy does not allow family h100"
    assert await fleet.placed(sku="l40s.slice") == "us-l40s"


async def test_residency_is_the_tenants_and_the_requests_together(fleet: Fleet) -> None:
    await fleet.node("eu-2", tags=["hall:2"])
    assert await fleet.placed(residency=["country:de", "hall:2"]) == "eu-2", (
        "its site's and its own"
    )
    await fleet.policy(residency=["eu"])
    assert await fleet.placed(residency=["hall:2"]) == "eu-2"
    for _ in range(3):
        assert (await fleet.placed(gpus=4)).startswith("eu-")
    told = await fleet.refused(gpus=4)
    assert told["rejections"] == {"resident": 1, "free_enough": 2}
    assert "never" not in told, "the nodes that it may use are full, and will not always be"


async def test_a_tag_that_no_node_has_is_refused_as_never(fleet: Fleet) -> None:
    told = await fleet.refused(residency=["country:fr"])
    assert told["never"] == "no node of this family is tagged country:fr"
    assert told["rejections"] == {"resident": 3}
    told = await fleet.refused(residency=["eu"], site="us")
    assert told["never"] == "no node at the sites that are allowed is tagged eu"
    await fleet.platform("PATCH", "/v1/sites/us", tags=["us", "eu"])
    assert await fleet.placed(residency=["eu"], site="us") == "us-1", "its nodes were told"


async def test_a_request_packs_or_spreads_as_it_asks_or_else_as_its_tenant_does(
    fleet: Fleet,
) -> None:
    first = await fleet.placed()
    assert await fleet.placed() == first
    assert await fleet.placed(strategy="spread") != first
    await fleet.policy(strategy="spread")
    assert {await fleet.placed() for _ in range(3)} == {"eu-1", "eu-2", "us-1"} - {first}
    packed = [await fleet.placed(strategy="pack") for _ in range(3)]
    assert len(set(packed)) == 1


async def test_the_lower_ceiling_holds(fleet: Fleet) -> None:
    for name, price in {"eu-1": 5, "eu-2": 7, "us-1": 9}.items():
        assert (await fleet.node(name, price_micros_per_gpu_hour=price))[
            "price_micros_per_gpu_hour"
        ] == price
    assert await fleet.placed(price_micros_max=6, gpus=4) == "eu-1"
    assert await fleet.placed(price_micros_max=6, gpus=4) == "eu-1"
    told = await fleet.refused(price_micros_max=6)
    assert told["rejections"] == {"affordable": 2, "free_enough": 1}
    families = ["with l40s GPUs, as l40s.slice"]
    assert [change["what"] for change in told["changes"]] == [*families, "at any price"]
    await fleet.policy(price_micros_max=8)
    told = await fleet.refused(price_micros_max=6)
    said = [change["what"] for change in told["changes"]]
    assert said == [*families, "at up to 8 micros a GPU-hour"], "its tenant's ceiling stays"
    assert await fleet.placed(price_micros_max=1000, gpus=4) == "eu-2"
    told = await fleet.refused(price_micros_max=4)
    assert told["never"] == "the cheapest node asks 5 micros for a GPU-hour; the ceiling is 4"
    await fleet.node("us-1", price_micros_per_gpu_hour=0)
    assert await fleet.placed(price_micros_max=4) == "us-1", "a price that nobody knows is no bar"


async def test_a_lease_stays_apart_from_those_it_names_until_they_end(fleet: Fleet) -> None:
    leases: list[Json] = []
    for _ in range(3):
        apart = [lease["id"] for lease in leases]
        leases.append((await fleet.ask(apart_from=apart)).json)
    assert len({lease["node"] for lease in leases}) == 3
    apart = [lease["id"] for lease in leases]
    told = await fleet.refused(apart_from=apart)
    assert told["rejections"] == {"apart": 3}
    last = next(lease for lease in leases if lease["site"] == fleet.us.id)
    await fleet.tenant.member.made(f"/v1/allocations/{last['id']}/release")
    assert (await fleet.refused(apart_from=apart))["rejections"] == {"apart": 3}, "not clean yet"
    await fleet.us.clean(await fleet.us.order(last, revision=2))
    assert await fleet.placed(apart_from=apart) == "us-1"


async def test_a_reserved_node_is_its_tenants_alone_and_used_before_others(fleet: Fleet) -> None:
    seen = await fleet.node("us-1", reserved_for=fleet.tenant.id)
    assert seen["reserved_for"] == fleet.tenant.id
    other = await fleet.central.tenant("other")
    assert (await fleet.refused(other.member, site="us"))["rejections"] == {
        "site_allowed": 2, "open_to_tenant": 1,
    }  # fmt: skip
    assert await fleet.placed() == "us-1"
    assert (await fleet.node("us-1", reserved_for=None))["reserved_for"] is None
    assert await fleet.placed(other.member, site="us") == "us-1"


async def test_a_drained_or_disconnected_node_is_not_schedulable(fleet: Fleet) -> None:
    await fleet.central.platform.made(f"/v1/nodes/{fleet.ids['eu-1']}/drain", reason="fans")
    gone = wire.NodePresence(node_id=fleet.ids["eu-2"], connected=False, at_us=1)
    await fleet.eu.report(wire.SiteReport(presence=gone))
    told = await fleet.refused(site="eu")
    assert told["rejections"] == {"site_allowed": 1, "schedulable": 2}
    assert {miss["why"] for miss in told["near"] if miss["rule"] == "schedulable"} == {
        "draining: fans",
        "its agent is not connected",
    }


async def test_the_receipt_names_the_policy_and_its_revision(fleet: Fleet) -> None:
    receipt = "/v1/allocations/{}/receipt"
    before = (await fleet.ask()).json
    told = (await fleet.tenant.viewer.get(receipt.format(before["id"]))).json
    assert told["policy_revision"] == 0
    assert (await fleet.policy(residency=["eu"]))["revision"] == 1
    assert (await fleet.policy(residency=["eu"]))["revision"] == 1, "nothing changed"
    assert (await fleet.policy(residency=["eu"], strategy="spread"))["revision"] == 2
    after = (await fleet.ask(price_micros_max=9, apart_from=[before["id"]])).json
    told = (await fleet.tenant.viewer.get(receipt.format(after["id"]))).json
    assert told["policy_revision"] == 2
    request = told["request"]
    assert request["tenant"] == fleet.tenant.id
    assert (request["residency"], request["strategy"]) == (["eu"], "spread")
    assert (request["price_micros_max"], request["apart_from"]) == (9, [before["node"]])
    refused = await fleet.refused(residency=["us"])
    assert refused["policy_revision"] == 2


async def test_a_tenant_reads_its_policy_and_sees_each_change(fleet: Fleet) -> None:
    path = f"/v1/tenants/{fleet.tenant.id}/placement"
    free: Json = {
        "tenant": fleet.tenant.id, "revision": 0, "sites": None, "families": None,
        "skus": None, "images": None, "residency": [], "strategy": "pack",
        "price_micros_max": None, "weight": 1,
    }  # fmt: skip
    assert (await fleet.tenant.viewer.get(path)).json == free
    wanted = {
        "sites": sorted([fleet.eu.id, fleet.us.id]), "families": ["h100"], "residency": ["eu"],
        "strategy": "spread", "price_micros_max": 7, "skus": ["h100.slice"],
        "images": ["ubuntu:24.04"], "weight": 3,
    }  # fmt: skip
    made = await fleet.policy(**{**wanted, "sites": ["us", fleet.eu.id]})
    assert made == {**wanted, "tenant": fleet.tenant.id, "revision": 1}
    assert (await fleet.tenant.viewer.get(path)).json == made
    assert await fleet.policy() == {**free, "revision": 2}, "what is left out is not restricted"
    audited = await fleet.central.rows(
        "SELECT tenant_id, detail->'revision' AS revision FROM audit_entries "
        "WHERE action = 'policy.set' ORDER BY seq"
    )
    assert audited == [{"tenant_id": fleet.tenant.id, "revision": n} for n in (1, 2)]


async def test_a_policy_for_a_site_that_does_not_exist_is_refused(fleet: Fleet) -> None:
    path = f"/v1/tenants/{fleet.tenant.id}/placement"
    body = {"sites": ["us", "nowhere"]}
    answer = await fleet.central.platform.send("PUT", path, json=body)
    assert (answer.status, answer.code) == (422, "unknown_site")
    answer = await fleet.tenant.admin.send("PUT", path, json=body)
    assert answer.status == 403, "whoever may not set it does not learn which sites there are"
    assert (await fleet.tenant.viewer.get(path)).json["revision"] == 0


async def test_a_node_changes_only_in_what_is_said(fleet: Fleet) -> None:
    changed = await fleet.node("eu-1", tags=["b", "a"], price_micros_per_gpu_hour=5)
    assert (changed["tags"], changed["site_tags"]) == (["a", "b"], ["country:de", "eu"])
    changed = await fleet.node("eu-1", leaf="leaf-7")
    assert (changed["tags"], changed["price_micros_per_gpu_hour"]) == (["a", "b"], 5)
    assert changed["leaf"] == "leaf-7"
    assert await fleet.node("eu-1") == changed
    path = f"/v1/nodes/{fleet.ids['eu-1']}"
    body: Json = {"reserved_for": "tenant_nobody", "tags": []}
    answer = await fleet.central.platform.send("PATCH", path, json=body)
    assert (answer.status, answer.code) == (422, "unknown_tenant")
    assert (await fleet.central.platform.get(path)).json == changed
    audited = await fleet.central.value(
        "SELECT count(*) FROM audit_entries WHERE action = 'node.update'"
    )
    assert audited == 2


async def test_a_leaf_is_as_discovered_unless_an_operator_says_otherwise(fleet: Fleet) -> None:
    node = fleet.eu.nodes[fleet.ids["eu-1"]]
    topology = node.topology()
    topology.fabric_leaf = "leaf-1"
    again = wire.SiteReport(topology=node.signed_topology(topology))
    await fleet.eu.report(again)
    assert (await fleet.node("eu-1"))["leaf"] == "leaf-1"
    assert (await fleet.node("eu-1", leaf="leaf-2"))["leaf"] == "leaf-2"
    await fleet.eu.report(again)
    assert (await fleet.node("eu-1"))["leaf"] == "leaf-2"
    assert (await fleet.node("eu-1", leaf=None))["leaf"] == "leaf-1"
