"""What a refusal says over HTTP: never or not now, what would fit, nothing that is another's."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from . import two_sites
from .plane import Answer, Central, Json, Tenant
from .two_sites import Fleet

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fleet(central: Central, tenant: Tenant, tmp_path: Path) -> AsyncGenerator[Fleet, None]:
    async with two_sites.staged(central, tenant, tmp_path) as staged:
        yield staged


def changes(answer: Answer) -> dict[str, Json]:
    """The first of each kind."""
    told: list[Json] = answer.json["explanation"]["changes"]
    return {change["kind"]: change for change in reversed(told)}


async def fill(fleet: Fleet, site: str, nodes: int) -> None:
    for _ in range(nodes):
        await fleet.placed(sku="h100.metal", gpus=None, site=site)


async def test_every_kind_of_change_says_what_to_ask_for_and_where_it_would_go(
    fleet: Fleet,
) -> None:
    await fill(fleet, "us", 1)
    refused = await fleet.ask(site="us")
    assert (refused.status, refused.code, refused.json["never"]) == (409, "sku_unavailable", False)
    told = changes(refused)
    site = told["another_site"]
    assert site == {
        "kind": "another_site", "what": f"at site {fleet.eu.id}", "gpus": 1, "nodes": 1,
        "site": fleet.eu.id, "family": "h100", "sku": "h100.slice", "node": site["node"],
    }  # fmt: skip
    assert site["node"] in (fleet.ids["eu-1"], fleet.ids["eu-2"])
    family = told["another_family"]
    assert family == {
        "kind": "another_family", "what": "with l40s GPUs, as l40s.slice", "gpus": 1, "nodes": 1,
        "site": fleet.us.id, "family": "l40s", "sku": "l40s.slice", "node": fleet.ids["us-l40s"],
    }  # fmt: skip
    assert await fleet.placed(sku=family["sku"], site=family["site"]) == "us-l40s"
    assert (await fleet.ask(site=site["site"])).json["node"] == site["node"]


async def test_another_family_is_offered_only_as_a_sku_that_may_be_leased(fleet: Fleet) -> None:
    await fill(fleet, "us", 1)
    assert "another_family" in changes(await fleet.ask(site="us"))
    assert "another_family" not in changes(await fleet.ask(site="us", gpus=2)), "of one GPU only"
    await fleet.policy(skus=["h100.slice", "h100.metal"])
    assert "another_family" not in changes(await fleet.ask(site="us"))
    await fleet.policy(families=["h100"])
    assert "another_family" not in changes(await fleet.ask(site="us"))
    await fleet.policy()
    limit = {"tenant": fleet.tenant.id, "family": "l40s", "gpus_max": 0}
    answer = await fleet.central.platform.put("/v1/quotas", **limit)
    assert answer.status == 200, answer.json
    assert "another_family" not in changes(await fleet.ask(site="us")), "its quota has no room"


async def test_nothing_of_an_excluded_site_or_of_anothers_node_is_told_to_a_tenant(
    fleet: Fleet,
) -> None:
    await fleet.policy(sites=["us"])
    other = await fleet.central.tenant("other")
    await fleet.node("us-1", reserved_for=other.id)
    hidden = [fleet.eu.id, fleet.ids["eu-1"], fleet.ids["eu-2"], fleet.ids["us-1"]]
    every: list[Json] = [{}, {"gpus": 4}, {"site": "us"}, {"site": "eu"}, {"sku": "h100.metal"}]
    for asked in every:
        terms: Json = {"gpus": None, **asked}
        refused = await fleet.ask(**terms)
        assert refused.code == ("unknown_site" if asked == {"site": "eu"} else "sku_unavailable")
        assert not [id for id in hidden if id in str(refused.json)], asked
    told = (await fleet.ask()).json["explanation"]
    assert told["considered"] == 3, "counts stay"
    assert {rule: n for rule, n in told["rejections"].items() if n} == {
        "site_permitted": 2,
        "open_to_tenant": 1,
    }
    span = changes(await fleet.ask())["spanning_sites"]
    assert (span["site"], span["node"]) == (None, None)
    assert span["what"] == "at other sites, if your tenant may use them"


async def test_the_platform_is_told_of_every_node(fleet: Fleet) -> None:
    await fleet.policy(sites=["us"])
    other = await fleet.central.tenant("other")
    await fleet.node("us-1", reserved_for=other.id)
    asked = {"project": fleet.tenant.project, "sku": "h100.slice", "gpus": 1}
    answer = await fleet.central.platform.post("/v1/allocations", **asked)
    near = {miss["node_id"]: miss["rule"] for miss in answer.json["explanation"]["near"]}
    assert near[fleet.ids["us-1"]] == "open_to_tenant"
    assert set(near.values()) == {"open_to_tenant", "site_permitted"}
    span = changes(answer)["spanning_sites"]
    assert span["site"] == fleet.eu.id


async def test_full_nodes_come_near_with_what_is_leased_of_them(fleet: Fleet) -> None:
    await fleet.policy(sites=["eu"])
    await fill(fleet, "eu", 1)
    await fleet.placed()
    near = (await fleet.refused(sku="h100.metal", gpus=None))["near"]
    assert [(miss["missing"], miss["why"]) for miss in near] == [
        (1, "1 of its 8 GPUs is leased"),
        (8, "8 of its 8 GPUs are leased"),
    ]
    assert {miss["site_id"] for miss in near} == {fleet.eu.id}


async def test_never_is_told_apart_by_what_the_request_may_use(fleet: Fleet) -> None:
    await fleet.central.platform.made(
        "/v1/skus", name="l40s.large", shape="gpu_slice", family="l40s", gpu_counts=[8],
        price_micros_per_gpu_hour=1,
    )  # fmt: skip
    never = await fleet.ask(sku="l40s.large", gpus=8)
    assert (never.status, never.code, never.json["never"]) == (409, "sku_unavailable", True)
    assert never.json["explanation"]["never"] == "the largest l40s node has 4 GPUs, not 8"
    waits = await fleet.ask(sku="l40s.large", gpus=8, queue=True)
    assert (waits.status, waits.json["never"]) == (409, True), "no wait would help"


async def test_waiting_is_suggested_only_if_the_end_of_a_lease_would_help(fleet: Fleet) -> None:
    await fleet.policy(sites=["us"], families=["h100"])
    await fill(fleet, "us", 1)
    await fleet.policy(sites=["us"], families=["h100"], residency=["us"])
    refused = await fleet.ask(residency=["us"])
    assert refused.json["explanation"]["after"]["leases"]
    await fleet.central.platform.made(f"/v1/nodes/{fleet.ids['us-1']}/drain", reason="fans")
    refused = await fleet.ask(site="us")
    assert refused.json["never"] is False
    assert refused.json["explanation"]["after"] == {"leases": [], "others": 0}
    assert "queue" not in refused.json["suggestion"]
    assert "no lease is known whose end would make room" in refused.json["suggestion"]
