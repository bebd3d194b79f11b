"""A tenant from a file: seven steps, shown as they happen; the same file again changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from . import plane
from .plane import Central, Json
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

STEPS = ["domain", "realm", "admin", "network", "quotas", "projects", "ready"]
FILE: Json = {
    "tenant": "acme",
    "admin": {"email": "ada@acme.example"},
    "networks": [{"vlans": 2, "vni": True, "pkey": True, "ipv4": [24], "ipv6": [56]}],
    "quotas": [{"gpus_max": 16}, {"family": "h100", "gpus_max": 8}],
    "organizations": [
        {
            "name": "research",
            "quotas": [{"gpus_max": 12}],
            "projects": [{"name": "llm", "quotas": [{"gpus_max": 4}]}, {"name": "vision"}],
        }
    ],
}
POOLS: list[Json] = [
    {"name": "vrfs", "kind": "vrf", "first": 1, "last": 50},
    {"name": "vlans", "kind": "vlan", "first": 100, "last": 109},
    {"name": "vnis", "kind": "vni", "first": 10_000, "last": 10_009},
    {"name": "pkeys", "kind": "pkey", "first": 0x10, "last": 0x1F},
    {"name": "v4", "kind": "ipv4", "prefix": "10.20.0.0/21"},
    {"name": "v6", "kind": "ipv6", "prefix": "fd00:20::/48"},
]


async def pools(central: Central) -> None:
    for pool in POOLS:
        await central.platform.made("/v1/pools", **pool)


async def ended(central: Central, id: str) -> Json:
    """The onboarding once it has ended; told by its events."""
    await central.until(id, "onboarding.done", "onboarding.undone")
    return (await central.platform.get(f"/v1/onboardings/{id}")).json


async def onboard(central: Central, **changes: Any) -> Json:
    begun = await central.platform.post("/v1/onboardings", **{**FILE, **changes})
    assert begun.status == 202, begun.json
    return await ended(central, begun.json["id"])


async def values(central: Central, tenant: str) -> list[str]:
    network = (await central.platform.get(f"/v1/tenants/{tenant}/network")).items
    return [f"{each['kind']} {each['value']}" for each in network]


async def test_a_tenant_comes_to_be_in_seven_steps(central: Central, site: StandInSite) -> None:
    await pools(central)
    done = await onboard(central)
    assert (done["status"], done["reason"]) == ("done", "")
    assert [step["name"] for step in done["steps"]] == STEPS
    assert {step["status"] for step in done["steps"]} == {"done"}
    tenant = (await central.platform.get("/v1/tenants/acme")).json
    assert (tenant["id"], tenant["status"]) == (done["tenant"], "active")
    assert await values(central, "acme") == [
        "vrf 1", "vlan 100", "vlan 101", "vni 10000", "pkey 0x0010", "ipv4 10.20.0.0/24",
        "ipv6 fd00:20::/56",
    ]  # fmt: skip
    limits = (await central.platform.get("/v1/quotas", tenant=tenant["id"])).items
    assert {(line["family"], line["gpus_max"]) for line in limits} == {(None, 16), ("h100", 8)}
    llm = (await central.platform.get("/v1/projects/llm")).json
    research = (await central.platform.get("/v1/organizations/research")).json
    assert llm["organization"] == research["id"]
    held = (await central.platform.get("/v1/quotas", project=llm["id"])).items
    assert [line["gpus_max"] for line in held] == [4]
    discovery = await central.platform.get("/realms/acme/.well-known/openid-configuration")
    assert discovery.status == 200
    invited = await central.rows("SELECT email, role, accepted_at FROM invitations")
    assert invited == [{"email": "ada@acme.example", "role": "admin", "accepted_at": None}]
    assert await central.violations() == {}


async def test_its_steps_are_told_as_they_happen(central: Central, site: StandInSite) -> None:
    await pools(central)
    done = await onboard(central)
    told = (await central.platform.get(f"/v1/onboardings/{done['id']}/timeline")).items
    steps = [event["data"]["step"] for event in told if event["type"] == "onboarding.stepped"]
    assert steps == STEPS
    assert told[0]["type"] == "onboarding.created"
    assert told[-1]["type"] == "onboarding.done"


async def test_a_tenant_that_was_onboarded_leases(central: Central, site: StandInSite) -> None:
    await pools(central)
    done = await onboard(central)
    path = f"/v1/tenants/{done['tenant']}/keys"
    key = await central.platform.made(path, name="k", role="member")
    member = central.caller(key["token"])
    await member.made("/v1/allocations", project="llm", sku="h100.slice", gpus=4)
    refused = await member.post("/v1/allocations", project="llm", sku="h100.slice", gpus=1)
    assert (refused.status, refused.code) == (409, "quota_exceeded")


async def test_two_replicas_take_each_step_once(
    central: Central, site: StandInSite, central_url: str, tmp_path: Path
) -> None:
    await pools(central)
    async with plane.running(central_url, tmp_path / "second", replica="central-2") as second:
        names = [f"t{number}" for number in range(5)]
        begun = [
            await (central, second)[at % 2].platform.made(
                "/v1/onboardings", **{**FILE, "tenant": name}
            )
            for at, name in enumerate(names)
        ]
        for each in begun:
            done = await ended(central, each["id"])
            assert (done["status"], done["reason"]) == ("done", "")
    for each in begun:
        told = (await central.platform.get(f"/v1/onboardings/{each['id']}/timeline")).items
        steps = [event["data"]["step"] for event in told if event["type"] == "onboarding.stepped"]
        assert steps == STEPS
    vlans = await central.rows("SELECT number FROM assignments WHERE kind = 'vlan' ORDER BY 1")
    assert [row["number"] for row in vlans] == list(range(100, 110))
    assert await central.violations() == {}
