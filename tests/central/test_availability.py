"""Availability and plans of moves: the numbers are what one can lease, and nothing else is told."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.central.availability import service
from penstock.central.defragmentation.planner import Planner
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock.placement.model import Fleet, Node, Slot
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import TenantId

from . import stand_in_site
from .conftest import catalog
from .plane import Api, Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio
SIZES = (("h100.slice", 1), ("h100.slice", 2), ("h100.slice", 4), ("h100.metal", 8))


@pytest.fixture
async def site(central: Central, tmp_path: Path) -> AsyncGenerator[StandInSite, None]:
    async with stand_in_site.connected(central, tmp_path / "site", nodes=3) as joined:
        await catalog(central)
        yield joined


async def available(api: Api, **parameters: str) -> dict[tuple[str, int], tuple[int, int]]:
    """By SKU and size: how many fit now, and after defragmentation."""
    answer = await api.get("/v1/availability", **parameters)
    assert answer.status == 200, answer.json
    return {
        (item["sku"], size["gpus"]): (size["now"], size["after_defragmentation"])
        for item in answer.items
        for size in item["sizes"]
    }


async def lease(tenant: Tenant, site: StandInSite, sku: str, gpus: int) -> Json | None:
    """A lease that runs; None once the platform refuses."""
    answer = await tenant.member.post("/v1/allocations", project="main", sku=sku, gpus=gpus)
    if answer.status == 409:
        assert answer.code == "sku_unavailable"
        return None
    order = await site.order(answer.json)
    await site.observe(order, wire.OBSERVED_ACTIVE)
    return answer.json


async def give_back(tenant: Tenant, site: StandInSite, leased: Json) -> None:
    released = await tenant.member.post(f"/v1/allocations/{leased['id']}/release")
    order = await site.order(leased, released.json["states"]["desired"]["revision"])
    await site.observe(order, wire.OBSERVED_STOPPING)
    await site.clean(order)


async def lease_all(tenant: Tenant, site: StandInSite, sku: str, gpus: int) -> list[Json]:
    found: list[Json] = []
    while made := await lease(tenant, site, sku, gpus):
        found.append(made)
    return found


async def plan(central: Central, site: StandInSite, **parameters: str) -> Json:
    answer = await central.platform.get(
        "/v1/defragmentation", family="h100", site=site.id, **parameters
    )
    assert answer.status == 200, answer.json
    return answer.json


async def halves(tenant: Tenant, site: StandInSite) -> list[Json]:
    """Three nodes with one lease of half of it each."""
    every = await lease_all(tenant, site, "h100.slice", 4)
    assert len(every) == 6
    nodes: dict[str, Json] = {}
    for each in every:
        if nodes.setdefault(each["node"], each) is not each:
            await give_back(tenant, site, each)
    return list(nodes.values())


async def test_as_many_can_be_leased_as_it_says(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await lease(tenant, site, "h100.slice", 1)
    await lease(tenant, site, "h100.slice", 4)
    for sku, gpus in SIZES:
        now, _ = (await available(tenant.viewer, sku=sku))[sku, gpus]
        made = await lease_all(tenant, site, sku, gpus)
        assert len(made) == now > 0, (sku, gpus)
        assert (await available(tenant.viewer))[sku, gpus][0] == 0
        for each in made:
            await give_back(tenant, site, each)


async def test_after_defragmentation_is_what_fits_once_the_moves_are_made_by_hand(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    kept = await halves(tenant, site)
    assert (await available(tenant.viewer))["h100.metal", 8] == (0, 1)
    made = await plan(central, site)
    (move,) = made["moves"]
    assert (made["shape"], made["gpus"], made["opened"]) == ("baremetal", 8, 1)
    assert move["gpus"] == 4
    assert made["cost_gpu_minutes"] == 4 * 75 == move["cost_gpu_minutes"]
    assert move["opens"] == move["from_node"] != move["to_node"]
    assert {"shape": "baremetal", "gpus": 8, "before": 0, "after": 1} in made["gains"]
    moved = next(each for each in kept if each["id"] == move["allocation"])
    assert (moved["node"], moved["tenant"]) == (move["from_node"], move["tenant"])
    # It is never carried out by itself: whoever wants it releases, and leases again.
    await central.platform.made(f"/v1/nodes/{move['opens']}/drain")
    again = await lease(tenant, site, "h100.slice", 4)
    assert again is not None
    await give_back(tenant, site, moved)
    await central.platform.made(f"/v1/nodes/{move['opens']}/undrain")
    assert (await available(tenant.viewer))["h100.metal", 8] == (1, 1)
    assert len(await lease_all(tenant, site, "h100.metal", 8)) == 1


async def test_slices_are_opened_too_and_a_lease_that_is_going_is_not_moved(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    every = await lease_all(tenant, site, "h100.slice", 1)
    nodes: dict[str, list[Json]] = {}
    for each in every:
        nodes.setdefault(each["node"], []).append(each)
    first, second, _ = nodes.values()
    for each in (first[0], second[0]):
        await give_back(tenant, site, each)
    assert (await available(tenant.viewer))["h100.slice", 2] == (0, 1)
    (move,) = (await plan(central, site, gpus="2"))["moves"]
    going = move["allocation"]
    await tenant.member.post(f"/v1/allocations/{going}/release")
    (other,) = (await plan(central, site, gpus="2"))["moves"]
    assert other["allocation"] != going
    assert (await plan(central, site))["moves"] == []


async def test_looking_changes_nothing(central: Central, site: StandInSite, tenant: Tenant) -> None:
    await halves(tenant, site)
    logs = "SELECT (SELECT sum(seq) FROM feed_heads) || ':' || (SELECT count(*) FROM audit_entries)"
    before = await central.value(logs), await central.rows("SELECT * FROM claims ORDER BY slot_id")
    assert (await plan(central, site))["moves"]
    assert await available(tenant.viewer)
    after = await central.value(logs), await central.rows("SELECT * FROM claims ORDER BY slot_id")
    assert before == after


async def test_a_tenant_is_told_counts_and_no_ids_of_nodes_slots_or_leases(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    theirs = await halves(tenant, site)
    stranger = await central.tenant("stranger")
    answer = await stranger.viewer.get("/v1/availability")
    text = answer.raw.decode()
    for each in theirs:
        for secret in (each["id"], each["node"], each["tenant"], each["project"], *each["slots"]):
            assert secret not in text
    assert {item["site_name"] for item in answer.items} == {"site-a"}
    assert await available(stranger.viewer) == await available(central.platform)


async def test_one_sku_or_one_site_may_be_asked_for(
    central: Central, site: StandInSite, tenant: Tenant, tmp_path: Path
) -> None:
    empty = await central.platform.made("/v1/sites", name="empty")
    async with stand_in_site.connected(central, tmp_path / "b", "site-b", nodes=1) as other:
        both = (await tenant.viewer.get("/v1/availability", sku="h100.metal")).items
        assert [(i["site"], i["sizes"][0]["now"]) for i in both] == sorted(
            [(site.id, 3), (other.id, 1)]
        )
        named = (await tenant.viewer.get("/v1/availability", site="site-b")).items
        assert {item["site"] for item in named} == {other.id}
    assert (await central.platform.get("/v1/availability", site="empty")).items == []
    beyond = await tenant.viewer.get("/v1/availability", site=empty["name"])
    assert (beyond.status, beyond.code) == (422, "unknown_site")


async def test_a_drained_node_counts_no_longer_but_its_site_is_still_named(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    for id in site.nodes:
        await central.platform.made(f"/v1/nodes/{id}/drain")
    assert (await available(tenant.viewer))["h100.metal", 8] == (0, 0)


@dataclass(frozen=True)
class Told:
    """A fleet that the test makes up: central has no verb yet that reserves a node."""

    fleet: Fleet

    async def read(self, tx: Tx) -> Fleet:
        return self.fleet


def node(id: str, site: str, reserved_for: str = "") -> Node:
    gpus = tuple(Slot(f"{id}_{n}", n, 0, True, True) for n in range(8))
    chassis = Slot(f"{id}_c", 0, 0, True, True)
    return Node(id, site, "h100", "", chassis, gpus, reserved_for=reserved_for)


async def test_nodes_reserved_for_another_do_not_count_nor_tell_of_their_site(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    hidden = await central.platform.made("/v1/sites", name="hidden")
    told = Told(
        Fleet(
            [node("n1", site.id), node("n2", site.id, other.id), node("n3", hidden["id"], other.id)]
        )
    )
    planner = Planner(central.database, told)

    async def metal(actor: Actor, site: str | None = None) -> dict[str, int]:
        async with central.database.transaction() as tx:
            seen = await service.look(tx, actor, told, sku="h100.metal", site=site)
        return {each.site_id: each.sizes[0].now for each in await service.stock(seen, planner)}

    def viewer(of: Tenant) -> Actor:
        return Actor("key", "k", "viewer", TenantId(of.id))

    assert await metal(viewer(tenant)) == {site.id: 1}
    assert await metal(viewer(other)) == {site.id: 2, hidden["id"]: 1}
    assert await metal(Actor("key", "k", "platform_admin")) == {site.id: 2, hidden["id"]: 1}
    with pytest.raises(Invalid) as beyond:
        await metal(viewer(tenant), "hidden")
    with pytest.raises(Invalid) as absent:
        await metal(viewer(tenant), "absent")
    assert beyond.value.detail.replace("hidden", "absent") == absent.value.detail
