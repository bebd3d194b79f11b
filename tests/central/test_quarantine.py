"""Rows that cannot be true are named, break nothing, and are left out until they can."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
from logins import superuser_url

from penstock.central import fleet
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import NodeId

from . import stand_in_site
from .conftest import catalog
from .plane import Central, Json, Tenant
from .stand_in_site import Node, StandInSite

pytestmark = pytest.mark.anyio

COLUMNS = "id, node_id, kind, index, gpu_uuid, cleanup_steps, approved_at"
GPU = "node_id = $1 AND kind = 'gpu'"
STEPS = "'{a}'"
MORE = "now() FROM generate_series(8, 64) AS n"
LAST = f"id = (SELECT id FROM slots WHERE {GPU} ORDER BY index DESC LIMIT 1)"


# What is done to the node's rows, and what must then be said of it.
PLANTED: dict[str, tuple[str, str]] = {
    "a negative NUMA node": (
        f"UPDATE slots SET numa_node = -1 WHERE {LAST}",
        "GPU 7 is on NUMA node -1",
    ),
    "a NUMA node beyond all": (
        f"UPDATE slots SET numa_node = 2147483647 WHERE {LAST}",
        "GPU 7 is on NUMA node 2147483647",
    ),
    "65 GPUs": (
        f"INSERT INTO slots ({COLUMNS}) SELECT 's' || n, $1, 'gpu', n, 'x' || n, {STEPS}, {MORE}",
        "it has 65 GPUs, not 1 to 64",
    ),
    "an index beyond all": (
        f"UPDATE slots SET index = 64 WHERE {LAST}",
        "a GPU has index 64, not 0 to 63",
    ),
    "the same index twice": (
        f"UPDATE slots SET index = 0 WHERE {LAST}",
        "two GPUs have the same index",
    ),
    "two chassis": (
        f"INSERT INTO slots ({COLUMNS}) VALUES ('slot_c', $1, 'chassis', 1, '', {STEPS}, now())",
        "it has 2 chassis slots, not one",
    ),
    "no chassis": (
        "DELETE FROM slots WHERE node_id = $1 AND kind = 'chassis'",
        "it has 0 chassis slots, not one",
    ),
    "no GPUs": (f"DELETE FROM slots WHERE {GPU}", "it has 0 GPUs, not 1 to 64"),
    "no slots": (
        "DELETE FROM slots WHERE node_id = $1",
        "it was discovered, and has no slots",
    ),
    "no family": (
        "UPDATE nodes SET family = '' WHERE id = $1",
        "it lacks an id, a site or a family",
    ),
}


@dataclass(frozen=True)
class Stage:
    central: Central
    tenant: Tenant
    site: StandInSite
    bad: str
    good: str
    url: str

    async def lease(self, gpus: int = 1) -> Json:
        return await self.tenant.member.made(
            "/v1/allocations", project="main", sku="h100.slice", gpus=gpus
        )

    async def plant(self, sql: str) -> None:
        """Behind the back of every wall, and then the fleet is told of it."""
        superuser = await asyncpg.connect(superuser_url(self.url))
        await superuser.execute(
            "SET session_replication_role = replica; "
            "ALTER TABLE slots DROP CONSTRAINT IF EXISTS slots_node_id_kind_index_key"
        )
        await superuser.execute(sql, self.bad)
        await superuser.close()
        await self.touch()

    async def touch(self) -> None:
        async with self.central.database.transaction() as tx:
            await fleet.lock(tx)
            await fleet.changed(tx, NodeId(self.bad))

    async def named(self) -> list[Json]:
        checked = (await self.central.platform.get("/v1/invariants")).items
        (rows,) = [item for item in checked if item["name"] == "fleet_row_impossible"]
        assert rows["violations"] == len(rows["found"])
        return rows["found"]

    async def seen(self) -> Json:
        return (await self.central.platform.get(f"/v1/nodes/{self.bad}")).json


@pytest.fixture
async def stage(
    central: Central, tenant: Tenant, central_url: str, tmp_path: Path
) -> AsyncGenerator[Stage, None]:
    async with stand_in_site.connected(central, tmp_path / "site", "site-a") as site:
        bad, good = await site.add(Node("bad")), await site.add(Node("good"))
        await catalog(central)
        yield Stage(central, tenant, site, bad.id, good.id, central_url)


@pytest.mark.parametrize("name", PLANTED)
async def test_a_row_that_cannot_be_is_named_and_others_are_placed(stage: Stage, name: str) -> None:
    assert await stage.named() == []
    assert (await stage.lease())["node"] == stage.bad, "the fleet is in memory, and it fits"
    sql, why = PLANTED[name]
    await stage.plant(sql)
    for _ in range(2):
        assert (await stage.lease(4))["node"] == stage.good
    (named,) = await stage.named()
    assert (named["node"], named["name"]) == (stage.bad, "bad")
    assert why in named["why"]
    seen = await stage.seen()
    assert seen["posture"] == "unavailable"
    assert seen["posture_reason"] == named["why"]
    full = await stage.tenant.member.post(
        "/v1/allocations", project="main", sku="h100.slice", gpus=1
    )
    assert (full.status, full.code) == (409, "sku_unavailable")
    assert full.json["explanation"]["considered"] == 1


async def test_a_row_that_was_put_right_is_used_again(stage: Stage) -> None:
    await stage.plant(f"UPDATE slots SET numa_node = -1 WHERE {LAST}")
    assert (await stage.lease())["node"] == stage.good
    await stage.plant("UPDATE slots SET numa_node = 0 WHERE node_id = $1")
    assert await stage.named() == []
    assert (await stage.seen())["posture"] == "fully_available"
    whole = await stage.tenant.member.made("/v1/allocations", project="main", sku="h100.metal")
    assert whole["node"] == stage.bad


@pytest.mark.parametrize(
    ("gpus", "why"),
    [(0, "it reports 0 GPUs; 1 to 64 are possible"), (65, "it reports 65 GPUs")],
)
async def test_a_node_that_reports_what_cannot_be_is_named(
    stage: Stage, gpus: int, why: str
) -> None:
    node = Node("odd", 8)
    stage.site.nodes[node.id] = node
    topology = node.topology()
    slots = [wire.ProposedSlot(index=n, gpu_uuid=f"odd-{n}") for n in range(gpus)]
    del topology.slots[:]
    topology.slots.extend(slots)
    enrolled = wire.NodeEnrolled(node_id=node.id, name=node.name, public_key=node.key.public())
    await stage.site.report(
        wire.SiteReport(enrolled=enrolled),
    )
    assert await stage.named() == [], "who has not been discovered yet is not impossible"
    await stage.site.report(wire.SiteReport(topology=node.signed_topology(topology)))
    (named,) = await stage.named()
    assert named["node"] == node.id
    assert why in named["why"]
    assert (await stage.lease())["node"] in (stage.bad, stage.good)


async def test_an_invariant_shows_the_first_rows_of_its_view(stage: Stage) -> None:
    """And counts them all."""
    await stage.central.execute(
        "INSERT INTO feed_rejections SELECT 'x', n, 'why', '', now() FROM generate_series(1, 25) n"
    )
    checked = (await stage.central.platform.get("/v1/invariants")).items
    (rejected,) = [item for item in checked if item["name"] == "feed_rejections"]
    assert (rejected["violations"], len(rejected["found"])) == (25, 20)
    assert rejected["found"][0] == {"source": "x", "seq": 1, "reason": "why"}
