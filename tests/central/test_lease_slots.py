"""A lease names its slots: they stay what they are, and it claims no others."""

from collections.abc import Iterator

import asyncpg
import pytest

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.kernel import migrations
from penstock.kernel.db import Database
from penstock.local.postgres import EmbeddedPostgres

from . import fleet_stage
from .fleet_stage import Stage

pytestmark = pytest.mark.anyio

BEFORE = "central/0028_lease_slots.sql"
# Two leases as they were written before: one of a whole node, one that waits.
OLD = """
    SET session_replication_role = replica;
    INSERT INTO slots (id, node_id, kind, index, gpu_uuid, cleanup_steps) VALUES
        ('slot_3', 'node_a', 'gpu', 0, 'x', '{wipe}'),
        ('slot_1', 'node_a', 'gpu', 1, 'y', '{wipe}'),
        ('slot_2', 'node_a', 'chassis', 0, '', '{wipe}');
    INSERT INTO allocations (id, tenant_id, project_id, sku_id, shape, family, gpus,
        price_micros_per_gpu_hour, currency, site_id, node_id, desired, desired_at, revision,
        created_at, created_by, correlation_id, placed_at, queued_at, expires_at) VALUES
        ('alloc_placed', 't', 'p', 'k', 'baremetal', 'h100', 2, 1, 'USD', 'site_a', 'node_a',
            'active', now(), 1, now(), '', '', now(), NULL, NULL),
        ('alloc_waits', 't', 'p', 'k', 'baremetal', 'h100', 2, 1, 'USD', NULL, NULL,
            'active', now(), 1, now(), '', '', NULL, now(), now());
    INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
        SELECT id, 1, 'alloc_placed', 't', node_id, now() FROM slots;
"""


@pytest.fixture
def old(server: EmbeddedPostgres) -> Iterator[str]:
    yield server.create_database("old")
    server.drop_database("old")


async def lease(stage: Stage, gpus: int) -> Placed:
    (outcome,) = await Committer(stage.database).commit([stage.ask(gpus)])
    assert isinstance(outcome, Placed)
    return outcome


async def test_leases_from_before_are_told_their_slots(old: str) -> None:
    every = migrations.read("central")
    place = [migration.name for migration in every].index(BEFORE)
    await migrations.migrate(old, "central", every[:place])
    superuser = await asyncpg.connect(old.replace("penstock@", "postgres@", 1))
    await superuser.execute(OLD)
    await migrations.migrate(old, "central", every)
    found = await superuser.fetch("SELECT id, slot_ids FROM allocations")
    wrong = await superuser.fetch("SELECT * FROM invariant_claims_other_than_its_slots")
    await superuser.close()
    assert {row["id"]: row["slot_ids"] for row in found} == {
        "alloc_placed": ["slot_2", "slot_3", "slot_1"],
        "alloc_waits": None,
    }
    assert wrong == []


async def test_a_lease_claims_no_slot_but_its_own(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    held = (await lease(stage, 2)).allocation
    with pytest.raises(asyncpg.ForeignKeyViolationError, match=held.id):
        async with database.transaction() as tx:
            await tx.execute(
                """
                INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
                SELECT s.id, 1, a.id, a.tenant_id, a.node_id, now()
                FROM allocations a JOIN slots s USING (node_id)
                WHERE a.id = $1 AND s.id <> ALL(a.slot_ids) LIMIT 1
                """,
                held.id,
            )


@pytest.mark.parametrize("slots", ["NULL", "'{}'", "slot_ids[2:]", "slot_ids || slot_ids[1]"])
async def test_where_a_lease_is_it_stays(database: Database, slots: str) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    held = (await lease(stage, 2)).allocation
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        async with database.transaction() as tx:
            await tx.execute(f"UPDATE allocations SET slot_ids = {slots}")
    found = await database.fetch("SELECT slot_ids FROM allocations")
    assert found[0]["slot_ids"] == list(held.slot_ids)
