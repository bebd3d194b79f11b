"""Pools and what tenants get of them: never twice, the lowest first, a clear word at the end."""

import asyncio
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from . import plane
from .plane import Api, Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


async def pool(platform: Api, name: str, kind: str, **extent: object) -> Json:
    return await platform.made("/v1/pools", name=name, kind=kind, **extent)


@pytest.fixture
async def pools(central: Central) -> Api:
    """A few of everything, for everywhere."""
    platform = central.platform
    await pool(platform, "vrfs", "vrf", first=1, last=100)
    await pool(platform, "vlans", "vlan", first=100, last=104)
    await pool(platform, "vnis", "vni", first=5000, last=5009)
    await pool(platform, "pkeys", "pkey", first=0x7000, last=0x7FFE)
    await pool(platform, "v4", "ipv4", prefix="10.0.0.0/22")
    await pool(platform, "v6", "ipv6", prefix="fd00::/32")
    return platform


async def expand(platform: Api, tenant: str, **more: Any) -> list[str]:
    given = await platform.made(f"/v1/tenants/{tenant}/network", **more)
    return [f"{each['kind']} {each['value']}" for each in given["items"]]


async def test_a_tenant_gets_the_lowest_of_everything(pools: Api, tenant: Tenant) -> None:
    given = await expand(pools, tenant.id, vlans=2, vni=True, pkey=True, ipv4=[26, 24], ipv6=[64])
    assert given == [
        "vrf 1", "vlan 100", "vlan 101", "vni 5000", "pkey 0x7000", "ipv4 10.0.0.0/24",
        "ipv4 10.0.1.0/26", "ipv6 fd00::/64",
    ]  # fmt: skip
    assert await expand(pools, tenant.id, vlans=1, ipv4=[26]) == ["vlan 102", "ipv4 10.0.1.64/26"]
    seen = (await tenant.viewer.get(f"/v1/tenants/{tenant.id}/network")).items
    assert len(seen) == 10, "its own people see what it has"
    assert "pool" not in seen[0], "and nothing of the pools"


async def test_a_second_vrf_vni_or_partition_key_is_not_given(pools: Api, tenant: Tenant) -> None:
    await expand(pools, tenant.id, vni=True, pkey=True)
    assert await expand(pools, tenant.id, vni=True, pkey=True) == []


async def test_exhaustion_says_which_pool_and_what_is_left(
    central: Central, pools: Api, tenant: Tenant
) -> None:
    await expand(pools, tenant.id, vlans=3)
    other = await central.tenant("other")
    path = f"/v1/tenants/{other.id}/network"
    refused = await pools.post(path, vlans=3)
    assert (refused.status, refused.code) == (409, "pool_exhausted")
    assert refused.json["left"] == 2
    assert "vlans (100-104) has 2 left" in refused.json["detail"]
    assert (await pools.get(path)).items == [], "nothing is given in part, not even the VRF"
    refused = await pools.post(path, ipv4=[21])
    assert (refused.status, refused.code) == (409, "pool_exhausted")
    assert "10.0.0.0/22" in refused.json["detail"]
    refused = await pools.post(path, site="site-b", vlans=1)
    assert (refused.status, refused.code) == (422, "unknown_site")


async def test_without_a_pool_there_is_nothing_to_take(central: Central, tenant: Tenant) -> None:
    refused = await central.platform.post(f"/v1/tenants/{tenant.id}/network", vlans=1)
    assert (refused.status, refused.code) == (409, "no_pool")
    assert "vrf" in refused.json["detail"]


async def test_several_pools_are_used_in_order_and_together(pools: Api, tenant: Tenant) -> None:
    await pool(pools, "more-vlans", "vlan", first=50, last=51)
    given = await expand(pools, tenant.id, vlans=4)
    assert given == ["vrf 1", "vlan 50", "vlan 51", "vlan 100", "vlan 101"]
    shown = (await pools.get("/v1/pools/more-vlans")).json
    assert (shown["assigned"], shown["free"], shown["left"]) == (2, 0, "nothing free")
    shown = (await pools.get("/v1/pools/vlans")).json
    assert (shown["assigned"], shown["free"], shown["left"]) == (2, 3, "3 free")


async def test_a_pool_of_prefixes_says_how_large_a_block_is_left(
    pools: Api, tenant: Tenant
) -> None:
    await expand(pools, tenant.id, ipv4=[23])
    assert (await pools.get("/v1/pools/v4")).json["left"] == "/23 and smaller free"
    await expand(pools, tenant.id, ipv4=[24, 26])
    assert (await pools.get("/v1/pools/v4")).json["left"] == "/25 and smaller free"


async def test_a_sites_pools_are_its_own(
    central: Central, pools: Api, site: StandInSite, tenant: Tenant
) -> None:
    for kind, first in (("vrf", 1000), ("vlan", 2000)):
        await pool(pools, f"{kind}-a", kind, site=site.id, first=first, last=first + 9)
    given = await expand(pools, tenant.id, site="site-a", vlans=2)
    assert given == ["vrf 1000", "vlan 2000", "vlan 2001"]
    assert await expand(pools, tenant.id, vlans=1) == ["vrf 1", "vlan 100"], "one VRF in each"


OVERLAPS: list[tuple[Json, Json]] = [
    ({"kind": "vlan", "first": 1, "last": 9}, {"kind": "vlan", "first": 9, "last": 12}),
    ({"kind": "vlan", "first": 1, "last": 9}, {"kind": "vlan", "first": 3, "last": 3}),
    ({"kind": "vni", "first": 1, "last": 9}, {"kind": "vni", "site": "a", "first": 9, "last": 9}),
    ({"kind": "vni", "site": "a", "first": 1, "last": 9}, {"kind": "vni", "first": 9, "last": 99}),
    ({"kind": "ipv4", "prefix": "10.0.0.0/8"}, {"kind": "ipv4", "prefix": "10.9.0.0/16"}),
    ({"kind": "ipv6", "prefix": "fd00::/48"}, {"kind": "ipv6", "prefix": "fd00::/16"}),
]
APART: list[tuple[Json, Json]] = [
    ({"kind": "vlan", "first": 1, "last": 9}, {"kind": "vlan", "first": 10, "last": 12}),
    ({"kind": "vlan", "first": 1, "last": 9}, {"kind": "vni", "first": 1, "last": 9}),
    (
        {"kind": "vlan", "site": "a", "first": 1, "last": 9},
        {"kind": "vlan", "site": "b", "first": 1, "last": 9},
    ),
    ({"kind": "ipv4", "prefix": "10.0.0.0/9"}, {"kind": "ipv4", "prefix": "10.128.0.0/9"}),
]


@pytest.mark.parametrize(("one", "other"), OVERLAPS)
async def test_pools_that_could_meet_are_kept_apart(
    central: Central, one: Json, other: Json
) -> None:
    await central.platform.made("/v1/sites", name="a")
    await central.platform.made("/v1/pools", name="one", **one)
    refused = await central.platform.post("/v1/pools", name="other", **other)
    assert (refused.status, refused.code) == (409, "pools_overlap")


@pytest.mark.parametrize(("one", "other"), APART)
async def test_pools_that_never_meet_may_be_alike(central: Central, one: Json, other: Json) -> None:
    for name in ("a", "b"):
        await central.platform.made("/v1/sites", name=name)
    await central.platform.made("/v1/pools", name="one", **one)
    await central.platform.made("/v1/pools", name="other", **other)


async def test_a_pools_name_is_given_once(central: Central) -> None:
    await pool(central.platform, "p", "vlan", first=1, last=2)
    refused = await central.platform.post("/v1/pools", name="p", kind="vni", first=1, last=2)
    assert (refused.status, refused.code) == (409, "name_taken")


async def test_racing_tenants_never_share_and_leave_no_gap(
    central: Central, central_url: str, tmp_path: Path
) -> None:
    """Two replicas, twenty tenants at once, more wanted than there is."""
    platform = central.platform
    await pool(platform, "vrfs", "vrf", first=1, last=100)
    await pool(platform, "vlans", "vlan", first=10, last=39)
    await pool(platform, "v4", "ipv4", prefix="10.0.0.0/23")
    tenants = [
        (await platform.made("/v1/tenants", name=f"t{number}"))["id"] for number in range(20)
    ]
    async with plane.running(central_url, tmp_path / "second", replica="central-2") as second:
        asks = [
            (central, second)[at % 2].platform.post(f"/v1/tenants/{id}/network", vlans=2, ipv4=[28])
            for at, id in enumerate(tenants)
        ]
        answers = await asyncio.gather(*asks)
    won = [answer for answer in answers if answer.status == 201]
    lost = [answer for answer in answers if answer.status != 201]
    assert len(won) == 15, "30 VLANs are enough for fifteen"
    assert {answer.code for answer in lost} == {"pool_exhausted"}
    given = [each for answer in won for each in answer.items]
    vlans = sorted(int(each["value"]) for each in given if each["kind"] == "vlan")
    assert vlans == list(range(10, 40)), "each once, and no gap"
    blocks = sorted(ip_network(each["value"]) for each in given if each["kind"] == "ipv4")
    assert blocks == list(ip_network("10.0.0.0/23").subnets(new_prefix=28))[:15]
    vrfs = sorted(int(each["value"]) for each in given if each["kind"] == "vrf")
    assert vrfs == list(range(1, 16)), "who was refused took nothing"
    assert await central.violations() == {}


INSERT = (
    "INSERT INTO assignments (id, tenant_id, pool_id, kind, number, prefix, assigned_at) "
    "SELECT $1, $2, id, kind, $3, $4, now() FROM pools WHERE name = $5"
)


async def test_the_database_alone_forbids_what_two_would_share(
    central: Central, pools: Api, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    await expand(pools, tenant.id, vlans=1, ipv4=[24])
    for number, prefix, name in (
        (100, None, "vlans"),
        (None, ip_network("10.0.0.128/25"), "v4"),
        (None, ip_network("10.0.0.0/22"), "v4"),
    ):
        with pytest.raises(asyncpg.ExclusionViolationError):
            await central.execute(INSERT, "assignment_x", other.id, number, prefix, name)
    with pytest.raises(asyncpg.UniqueViolationError):
        await central.execute(INSERT, "assignment_x", tenant.id, 2, None, "vrfs")
    for sql in ("UPDATE assignments SET returned_at = now()", "DELETE FROM assignments"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="still its tenant's"):
            await central.execute(sql)


async def test_a_suspended_tenant_may_be_given_more_and_a_leaving_one_not(
    central: Central, pools: Api, tenant: Tenant, tmp_path: Path
) -> None:
    await pools.made(f"/v1/tenants/{tenant.id}/suspend", reason="unpaid")
    await expand(pools, tenant.id, vlans=1)
    await pools.made(f"/v1/tenants/{tenant.id}/offboard", reason="left")
    refused = await pools.post(f"/v1/tenants/{tenant.id}/network", vlans=1)
    assert refused.status == 403
    assert refused.code in ("tenant_offboarding", "tenant_offboarded")


async def test_what_would_be_too_much_for_one_tenant_is_refused(
    central: Central, tenant: Tenant
) -> None:
    platform = central.platform
    await pool(platform, "vrfs", "vrf", first=1, last=9)
    await pool(platform, "vlans", "vlan", first=1, last=4094)
    await expand(platform, tenant.id, vlans=200)
    refused = await platform.post(f"/v1/tenants/{tenant.id}/network", vlans=57)
    assert (refused.status, refused.code) == (409, "network_too_large")


async def test_a_name_is_as_good_as_an_id(central: Central, pools: Api, tenant: Tenant) -> None:
    await expand(pools, "acme", vlans=1)
    by_name = (await pools.get("/v1/tenants/acme/network")).items
    assert by_name == (await pools.get(f"/v1/tenants/{tenant.id}/network")).items
    assert len(by_name) == 2
