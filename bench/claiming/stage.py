"""A real database with a fleet in it, big enough to measure on."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import asyncpg

from penstock.central.onboardings import founding
from penstock.central.projects import service as projects
from penstock.central.sites import service as sites
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.central.slots.model import CHASSIS_CLEANUP
from penstock.kernel import db, migrations
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database, Tx
from penstock.local import postgres
from penstock.local.postgres import EmbeddedPostgres
from penstock.placement.model import Shape
from penstock_contracts.ids import NodeId, SiteId, SkuId, SlotId, TenantId

from .mix import GPUS, METAL, SLICE

FAMILY = "h100"
STEPS = ["runtime.destroyed", "gpu.memory_cleared", "gpu.reset", "nvme.erased", "fabric.detached"]
SEGMENTS = 64  # of the log, 16 MB each
SETTINGS = {
    "shared_buffers": "512MB",
    "min_wal_size": "4GB",
    "max_wal_size": "6GB",
    "checkpoint_timeout": "30min",
}


@dataclass(frozen=True)
class Fleet:
    """A database of central's with so many nodes, all free."""

    url: str
    tenant_id: TenantId
    project: str
    owner_url: str = ""

    @property
    def actor(self) -> Actor:
        return Actor("key", "key_bench", "member", self.tenant_id)


@contextmanager
def server(segments: int = SEGMENTS) -> Generator[EmbeddedPostgres, None, None]:
    """Postgres as `penstock up` runs it: durable, every commit on disk. `segments` are as many
    as will be written."""
    with postgres.temporary(SETTINGS) as started:
        asyncio.run(_recycle_log(started.url("postgres", role="postgres"), segments))
        yield started


async def _recycle_log(url: str, segments: int) -> None:
    """A server that has run for a while writes over old segments of its log; a new one would
    first fill each with zeros, in the time of whoever writes."""
    connection = await asyncpg.connect(url)
    try:
        for _ in range(segments):
            await connection.execute("SELECT pg_logical_emit_message(false, '', '')")
            await connection.execute("SELECT pg_switch_wal()")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


def build(started: EmbeddedPostgres, name: str, nodes: int) -> Fleet:
    started.create_database(name)
    asyncio.run(migrations.migrate(started.url(name), "central"))
    url = started.serving_url("central", name)
    fleet = asyncio.run(_build(url, started.url(name, role="postgres"), nodes))
    return replace(fleet, owner_url=started.url(name))


async def _build(url: str, above_the_walls: str, nodes: int) -> Fleet:
    database = await db.connect(url, "central", size=2)
    try:
        async with database.transaction() as tx:
            fleet, site = await _found(tx, url)
    finally:
        await database.close()
    await _fill(above_the_walls, site, nodes)
    return fleet


async def _found(tx: Tx, url: str) -> tuple[Fleet, SiteId]:
    tenant = await founding.create(tx, SYSTEM, name="bench")
    project = await projects.create(tx, SYSTEM, name="main", tenant=tenant.id)
    site = await sites.create(tx, SYSTEM, name="here", auto_approve=True)
    for sku, shape, counts in (
        (SLICE, Shape.GPU_SLICE, (1, 2, 4, 8)),
        (METAL, Shape.BAREMETAL, (GPUS,)),
    ):
        await skus.create(
            tx, SYSTEM, Sku(SkuId.new(), sku, shape, FAMILY, counts, 2_000_000, "USD", tx.now)
        )
    return Fleet(url, tenant.id, project.id), site.id


async def _fill(url: str, site: SiteId, nodes: int) -> None:
    """As discovery and approval would have left it, written in bulk."""
    now = datetime.now(UTC)
    ids = [NodeId.new() for _ in range(nodes)]
    connection = await asyncpg.connect(url)
    try:
        await connection.copy_records_to_table(
            "nodes",
            columns=["id", "site_id", "name", "public_key", "hardware", "family", "connected",
                     "presence_at", "enrolled_at"],
            records=[
                (id, site, id[-20:], id.encode(), "h100-8", FAMILY, True, now, now) for id in ids
            ],
        )  # fmt: skip
        await connection.copy_records_to_table(
            "slots",
            columns=["id", "node_id", "kind", "index", "gpu_uuid", "pci_address", "nvme_serial",
                     "fabric_guid", "numa_node", "cpus", "memory_mib", "cleanup_steps",
                     "approved_at", "approved_by"],
            records=[record for id in ids for record in _slots(id, now)],
        )  # fmt: skip
        await connection.execute("VACUUM (ANALYZE)")
    finally:
        await connection.close()


def _slots(node: NodeId, now: datetime) -> Iterator[tuple[object, ...]]:
    yield (
        SlotId.new(), node, "chassis", 0, "", "", "", "", 0, 192, 2 << 20,
        list(CHASSIS_CLEANUP), now, "bench",
    )  # fmt: skip
    for gpu in range(GPUS):
        yield (
            SlotId.new(), node, "gpu", gpu, f"GPU-{node[5:]}-{gpu}", f"0000:{gpu:02x}:00.0",
            f"NVME{node[-12:]}{gpu}", f"fab{node[-12:]}{gpu}", gpu * 2 // GPUS, 22, 240 << 10,
            STEPS, now, "bench",
        )  # fmt: skip


async def double_booked(database: Database) -> int:
    """Slots with two live claims, by plain SQL; and whatever else the invariants find."""
    rows = await database.fetch(
        "SELECT count(*) AS twice FROM (SELECT slot_id FROM claims WHERE freed_at IS NULL "
        "GROUP BY slot_id HAVING count(*) > 1) AS held"
    )
    return int(rows[0]["twice"])
