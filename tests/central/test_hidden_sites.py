"""A site beyond a tenant's policy is answered as one that does not exist, whoever asks and how."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from penstock_contracts.ids import AllocationId, SiteId

from . import roles_stage, two_sites
from .plane import Answer, Api, Central, Json, Tenant
from .two_sites import Fleet

pytestmark = pytest.mark.anyio

# Ways in which a policy, or the platform, keeps the tenant out of the site `eu`.
POLICIES: Final[dict[str, Json]] = {
    "it lists other sites": {"sites": ["us"]},
    "its residency is elsewhere": {"residency": ["us"]},
    "its families are elsewhere": {"families": ["l40s"]},
    "its prices are elsewhere": {"price_micros_max": 5},
}
WISHES: Final[dict[str, Json]] = {
    "now": {},
    "to wait": {"queue": True},
    "with terms of its own": {"residency": ["eu"]},
    "of another size": {"gpus": 3},
    "of another family": {"sku": "l40s.slice"},
}


@pytest.fixture
async def fleet(central: Central, tenant: Tenant, tmp_path: Path) -> AsyncGenerator[Fleet, None]:
    async with two_sites.staged(central, tenant, tmp_path) as staged:
        yield staged


async def ask(api: Api, site: str, **wish: object) -> Answer:
    body = {"project": "main", "sku": "h100.slice", "gpus": 1, **wish, "site": site}
    return await api.send(
        "POST", "/v1/allocations", json=body, headers={"X-Correlation-Id": "the-same"}
    )


async def alike(api: Api, site: str, nowhere: str, **wish: object) -> None:
    """The two differ in nothing but what was asked for."""
    there, nothing = await ask(api, site, **wish), await ask(api, nowhere, **wish)
    assert (nothing.status, nothing.code) == (422, "unknown_site"), nothing.json
    assert there.status == nothing.status, there.json
    assert there.raw.replace(site.encode(), nowhere.encode()) == nothing.raw


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_site_outside_the_policy_is_as_unknown_as_one_that_is_not_there(
    fleet: Fleet, policy: str
) -> None:
    for name in ("eu-1", "eu-2"):
        await fleet.node(name, price_micros_per_gpu_hour=9)
    await fleet.policy(**POLICIES[policy])
    for wish in WISHES.values():
        await alike(fleet.tenant.member, "eu", "xx", **wish)
        await alike(fleet.tenant.member, fleet.eu.id, str(SiteId.new()), **wish)
    seen = await fleet.tenant.member.get("/v1/availability", site="eu")
    assert (seen.status, seen.code) == (422, "unknown_site"), "availability says the same"
    platform = await ask(fleet.central.platform, "eu", project=fleet.tenant.project)
    assert (platform.status, platform.code) == (409, "sku_unavailable"), "who sees it is told why"


async def test_a_site_that_is_all_reserved_for_another_tenant_is_unknown(fleet: Fleet) -> None:
    other = await fleet.central.tenant("other")
    for name in ("eu-1", "eu-2"):
        await fleet.node(name, reserved_for=other.id)
    await alike(fleet.tenant.member, "eu", "xx")
    assert await fleet.placed(other.member, site="eu") in ("eu-1", "eu-2")


async def test_conditions_of_a_role_do_not_tell_what_is_true_of_a_hidden_site(fleet: Fleet) -> None:
    """Who may lease only where `eu` is certain is refused at both, with the same words."""
    await fleet.policy(sites=["us"])
    admin, api = fleet.tenant.admin, fleet.central.caller
    account = await admin.made("/v1/service-accounts", name="robot")
    await admin.made(
        "/v1/role-bindings", subject=account["id"], role="member", project="main",
        conditions={"residency": ["eu"]},
    )  # fmt: skip
    key = await admin.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    robot = api(key["token"])
    there, nothing = await ask(robot, "eu"), await ask(robot, "xx")
    assert (there.status, there.raw) == (nothing.status, nothing.raw)


async def test_a_site_that_the_policy_names_is_known_while_it_has_no_node(fleet: Fleet) -> None:
    await fleet.central.platform.made("/v1/sites", name="new")
    await alike(fleet.tenant.member, "new", "not")
    await fleet.policy(sites=["us", "new"])
    told = await fleet.refused(site="new")
    assert told["considered"], "it may be asked for, and has no room"


async def test_who_may_not_give_networks_does_not_learn_which_sites_there_are(
    fleet: Fleet,
) -> None:
    supplier = await roles_stage.bound(fleet.central, "supplier", "supplier", site="us")
    path = f"/v1/tenants/{fleet.tenant.id}/network"
    for api in (supplier, fleet.tenant.admin, fleet.tenant.member):
        answers = {
            site: await api.send(
                "POST", path, json={"site": site, "vlans": 1},
                headers={"X-Correlation-Id": "the-same"},
            )
            for site in ("eu", "xx")
        }  # fmt: skip
        there, nothing = answers["eu"], answers["xx"]
        assert there.status in (403, 404), there.json
        assert (there.status, there.raw) == (nothing.status, nothing.raw)


async def test_a_lease_that_one_may_not_see_is_no_lease_to_stay_apart_from(fleet: Fleet) -> None:
    await fleet.tenant.admin.made("/v1/projects", name="secret")
    hidden = (await fleet.ask(project="secret")).json["id"]
    api = await roles_stage.bound(
        fleet.central, "robot", "member", tenant=fleet.tenant.id, project=fleet.tenant.project
    )
    nowhere = str(AllocationId.new())
    there, nothing = [await ask(api, "us", apart_from=[id]) for id in (hidden, nowhere)]
    assert (nothing.status, nothing.code) == (422, "unknown_allocation")
    assert there.raw.replace(hidden.encode(), nowhere.encode()) == nothing.raw
    seen = await fleet.ask(apart_from=[hidden])
    assert seen.status == 201, "who sees both keeps them apart"
