"""The same file again changes nothing; a changed one changes only what differs."""

import asyncio
from typing import Any

import pytest

from .plane import Central, Json
from .stand_in_site import StandInSite
from .test_onboarding import FILE, ended, onboard, pools, values

pytestmark = pytest.mark.anyio

# All that a tenant is, but not when or by whom it was looked at.
STATE = """
    SELECT jsonb_build_object(
        'tenants', (SELECT jsonb_agg(t ORDER BY id) FROM tenants t),
        'organizations', (SELECT jsonb_agg(o ORDER BY id) FROM organizations o),
        'projects', (SELECT jsonb_agg(p ORDER BY id) FROM projects p),
        'quotas', (SELECT jsonb_agg(q ORDER BY scope_id, family) FROM quotas q),
        'policies', (SELECT jsonb_agg(p ORDER BY tenant_id) FROM placement_policies p),
        'assignments', (SELECT jsonb_agg(a ORDER BY id) FROM assignments a),
        'realms', (SELECT jsonb_agg(r ORDER BY tenant_id) FROM realms r),
        'clients', (SELECT jsonb_agg(c ORDER BY id) FROM realm_clients c),
        'invitations', (SELECT jsonb_agg(i ORDER BY id) FROM invitations i))
"""


def changed(onboarding: Json) -> list[str]:
    return [step["name"] for step in onboarding["steps"] if step["changed"]]


async def test_the_same_file_again_changes_nothing(central: Central, site: StandInSite) -> None:
    await pools(central)
    await central.platform.put("/v1/templates/small", strategy="spread", skus=["h100.slice"])
    first = await onboard(central, template="small", placement={"residency": ["eu"]})
    before = await central.value(STATE)
    second = await onboard(central, template="small", placement={"residency": ["eu"]})
    assert second["id"] != first["id"]
    assert (second["status"], changed(second)) == ("done", [])
    assert await central.value(STATE) == before
    assert len(changed(first)) == 7


CHANGES: dict[str, tuple[Json, list[str]]] = {
    "more VLANs and another prefix": (
        {"networks": [{"vlans": 4, "vni": True, "pkey": True, "ipv4": [24, 26], "ipv6": [56]}]},
        ["network"],
    ),
    "a higher quota": (
        {"quotas": [{"gpus_max": 32}, {"family": "h100", "gpus_max": 8}]},
        ["quotas"],
    ),
    "one limit less": ({"quotas": [{"gpus_max": 16}]}, ["quotas"]),
    "another project": (
        {"organizations": [{"name": "research", "projects": [{"name": "audio"}]}]},
        ["projects"],
    ),
    "another organization": ({"organizations": [{"name": "product"}]}, ["projects"]),
    "another admin": ({"admin": {"email": "eve@acme.example"}}, ["admin"]),
    "a placement policy": ({"placement": {"strategy": "spread"}}, ["quotas"]),
    # From the inside out: none of these is allowed alone in the order of the file.
    "lower quotas everywhere": (
        {
            "quotas": [{"gpus_max": 3}],
            "organizations": [
                {
                    "name": "research",
                    "quotas": [{"gpus_max": 2}],
                    "projects": [{"name": "llm", "quotas": [{"gpus_max": 1}]}],
                }
            ],
        },
        ["quotas"],
    ),
    # A total comes down below what a family has now; the family's limit goes, or comes down.
    "a family less, everywhere": (
        {
            "quotas": [{"family": "h100", "gpus_max": 3}, {"gpus_max": 3}],
            "organizations": [
                {
                    "name": "research",
                    "quotas": [],
                    "projects": [{"name": "llm", "quotas": [{"family": "h100", "gpus_max": 2}]}],
                }
            ],
        },
        ["quotas", "projects"],
    ),
    "a family more, everywhere": (
        {
            "quotas": [{"family": "h100", "gpus_max": 90}, {"gpus_max": 90}],
            "organizations": [
                {
                    "name": "research",
                    "quotas": [{"family": "h100", "gpus_max": 80}, {"gpus_max": 80}],
                    "projects": [{"name": "llm", "quotas": [{"family": "h100", "gpus_max": 70}]}],
                }
            ],
        },
        ["quotas", "projects"],
    ),
    "higher quotas everywhere": (
        {
            "quotas": [{"gpus_max": 90}],
            "organizations": [
                {
                    "name": "research",
                    "quotas": [{"gpus_max": 80}],
                    "projects": [{"name": "llm", "quotas": [{"gpus_max": 70}]}],
                }
            ],
        },
        ["quotas", "projects"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_changed_file_changes_only_what_differs(
    central: Central, site: StandInSite, name: str
) -> None:
    await pools(central)
    await onboard(central)
    changes, expected = CHANGES[name]
    again = await onboard(central, **changes)
    assert (again["status"], again["reason"]) == ("done", "")
    assert changed(again) == expected
    assert changed(await onboard(central, **changes)) == []
    assert await central.violations() == {}


async def test_a_network_that_grew_keeps_what_it_had(central: Central, site: StandInSite) -> None:
    await pools(central)
    await onboard(central)
    had = await values(central, "acme")
    await onboard(central, networks=[{**FILE["networks"][0], "vlans": 3}])
    assert sorted(await values(central, "acme")) == sorted([*had, "vlan 102"])


LESS: list[Json] = [
    {"networks": [{**FILE["networks"][0], "vlans": 1}]},
    {"networks": [{**FILE["networks"][0], "vni": False}]},
    {"networks": [{**FILE["networks"][0], "ipv4": []}]},
    {"networks": [{**FILE["networks"][0], "ipv4": [25]}]},
    {"networks": []},
]


@pytest.mark.parametrize("less", LESS)
async def test_less_of_a_network_is_refused_before_anything_happens(
    central: Central, site: StandInSite, less: Json
) -> None:
    await pools(central)
    await onboard(central)
    before = await central.value(STATE)
    body: Json = {**FILE, **less, "quotas": list[Json]()}
    refused = await central.platform.post("/v1/onboardings", **body)
    assert (refused.status, refused.code) == (409, "network_cannot_shrink")
    assert "only grows" in refused.json["detail"]
    assert await central.value(STATE) == before


async def test_what_the_file_does_not_mention_stays(central: Central, site: StandInSite) -> None:
    await pools(central)
    await onboard(central)
    before = await central.value(STATE)
    bare: Json = {"tenant": "acme", "admin": FILE["admin"]}
    begun = await central.platform.made("/v1/onboardings", **bare)
    assert changed(await ended(central, begun["id"])) == []
    assert await central.value(STATE) == before


async def test_a_project_does_not_move(central: Central, site: StandInSite) -> None:
    await pools(central)
    await onboard(central)
    moved = [{"name": "product", "projects": [{"name": "llm"}]}]
    undone = await onboard(central, organizations=moved)
    assert undone["status"] == "undone"
    assert "cannot move" in undone["reason"]


async def test_a_tenant_that_was_made_by_hand_can_be_onboarded(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    made = await central.tenant("acme")
    done = await onboard(central)
    assert (done["status"], done["tenant"]) == ("done", made.id)
    assert changed(done) == ["admin", "network", "quotas", "projects"]


async def test_a_suspended_tenant_stays_suspended(central: Central, site: StandInSite) -> None:
    await pools(central)
    await onboard(central)
    await central.platform.made("/v1/tenants/acme/suspend", reason="unpaid")
    again = await onboard(central, quotas=[{"gpus_max": 99}])
    assert changed(again) == ["quotas"]
    assert (await central.platform.get("/v1/tenants/acme")).json["status"] == "suspended"


async def test_the_same_file_at_once_is_one_onboarding(central: Central, site: StandInSite) -> None:
    await pools(central)
    answers = await asyncio.gather(
        *(central.platform.post("/v1/onboardings", **FILE) for _ in range(6))
    )
    assert {answer.status for answer in answers} <= {202, 409}
    for answer in answers:
        if answer.status == 202:
            assert (await ended(central, answer.json["id"]))["status"] == "done"
        else:
            assert answer.code == "onboarding_running"
    assert await central.value("SELECT count(*) FROM tenants") == 1
    assert len(await values(central, "acme")) == 7


async def test_the_same_request_sent_twice_is_one(central: Central, site: StandInSite) -> None:
    await pools(central)
    one = await central.platform.post_once("k", "/v1/onboardings", **FILE)
    await ended(central, one.json["id"])
    other = await central.platform.post_once("k", "/v1/onboardings", **FILE)
    assert other.json["id"] == one.json["id"]
    assert await central.value("SELECT count(*) FROM onboardings") == 1


async def test_templates_are_under_the_file(central: Central, site: StandInSite) -> None:
    """The template's word where the file has none."""
    await pools(central)
    template: dict[str, Any] = {
        "skus": ["h100.slice"], "sites": ["site-a"], "images": ["ubuntu:24.04"],
        "strategy": "spread", "quotas": [{"gpus_max": 4}, {"family": "h100", "gpus_max": 3}],
    }  # fmt: skip
    made = await central.platform.put("/v1/templates/small", **template)
    assert (made.status, made.json["revision"]) == (200, 1)
    done = await onboard(
        central,
        template="small",
        quotas=[{"family": "h100", "gpus_max": 2}],
        organizations=[{"name": "default", "projects": [{"name": "main"}]}],
        placement={"strategy": "pack"},
    )
    assert done["status"] == "done", done
    policy = (await central.platform.get("/v1/tenants/acme/placement")).json
    assert policy["sites"] == [site.id], "bound to the one site"
    assert (policy["skus"], policy["images"]) == (["h100.slice"], ["ubuntu:24.04"])
    assert policy["strategy"] == "pack", "what the file says goes first"
    limits = (await central.platform.get("/v1/quotas", tenant=done["tenant"])).items
    assert {(line["family"], line["gpus_max"]) for line in limits} == {(None, 4), ("h100", 2)}


async def test_a_sku_that_the_template_leaves_out_cannot_be_leased_or_seen_in_stock(
    central: Central, site: StandInSite
) -> None:
    await central.platform.put("/v1/templates/small", skus=["h100.slice"])
    file = {
        "tenant": "acme", "admin": FILE["admin"], "template": "small",
        "organizations": [{"name": "default", "projects": [{"name": "main"}]}],
    }  # fmt: skip
    begun = await central.platform.made("/v1/onboardings", **file)
    tenant = (await ended(central, begun["id"]))["tenant"]
    key = await central.platform.made(f"/v1/tenants/{tenant}/keys", name="k", role="member")
    member = central.caller(key["token"])
    refused = await member.post("/v1/allocations", project="main", sku="h100.metal")
    assert (refused.status, refused.code) == (403, "sku_not_allowed")
    assert "h100.slice" in refused.json["detail"]
    assert {each["sku"] for each in (await member.get("/v1/availability")).items} == {"h100.slice"}
    await member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)


async def test_a_sites_own_template_binds_to_that_site(central: Central, site: StandInSite) -> None:
    await pools(central)
    made = await central.platform.put("/v1/templates/oslo", site="site-a", skus=["h100.slice"])
    assert made.json["sites"] == [site.id] == [made.json["site"]]
    await onboard(central, template="oslo")
    assert (await central.platform.get("/v1/tenants/acme/placement")).json["sites"] == [site.id]
    refused = await central.platform.put("/v1/templates/oslo", site="site-a", sites=["site-a"])
    assert (refused.status, refused.code) == (422, "invalid")


async def test_a_template_that_changes_changes_nobody_until_it_is_applied_again(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    path = "/v1/templates/small"
    await central.platform.put(path, strategy="spread")
    await onboard(central, template="small")
    assert (await central.platform.put(path, strategy="spread")).json["revision"] == 1
    assert (await central.platform.put(path, strategy="pack")).json["revision"] == 2
    policy = "/v1/tenants/acme/placement"
    assert (await central.platform.get(policy)).json["strategy"] == "spread"
    await central.platform.put(policy, strategy="spread", weight=3)
    assert changed(await onboard(central, template="small")) == ["quotas"]
    after = (await central.platform.get(policy)).json
    assert (after["strategy"], after["weight"]) == ("pack", 3), "no template says a weight"
