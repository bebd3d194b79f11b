"""A lease names its slots: they stay what they are, and it claims no others."""

from collections.abc import Iterator

import asyncpg
import pytest
from logins import superuser_url

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
    superuser = await asyncpg.connect(superuser_url(old))
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


# Lines of the log that say something else of a lease than the lease says of itself.
STRAY = {
    "other slots of its node": "node_id, ARRAY(SELECT s.id FROM slots s WHERE s.node_id = a.node_id"
    " AND s.id <> ALL(a.slot_ids) LIMIT 2), id, tenant_id",
    "one slot less": "node_id, slot_ids[2:], id, tenant_id",
    "slots of another node": "(SELECT n.id FROM nodes n WHERE n.id <> a.node_id),"
    " ARRAY(SELECT s.id FROM slots s WHERE s.node_id <> a.node_id LIMIT 2), id, tenant_id",
    "another node": "(SELECT n.id FROM nodes n WHERE n.id <> a.node_id), slot_ids, id, tenant_id",
    "another tenant": "node_id, slot_ids, id, 'tenant_x'",
    "another lease": "node_id, slot_ids, 'alloc_x', tenant_id",
}


@pytest.mark.parametrize("line", STRAY.values(), ids=STRAY)
async def test_a_line_of_the_log_claims_what_its_lease_says(database: Database, line: str) -> None:
    stage = await fleet_stage.build(database, nodes=2)
    await lease(stage, 2)
    with pytest.raises(asyncpg.ForeignKeyViolationError, match="not on one node"):
        async with database.transaction() as tx:
            await tx.execute(
                "INSERT INTO fleet_changes (revision, kind, receipt, at, node_id, slot_ids,"
                f" allocation_id, tenant_id) SELECT 99, 'claim', '', now(), {line}"
                " FROM allocations a"
            )


async def test_a_claim_is_made_by_its_line_of_the_log(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    held = (await lease(stage, 2)).allocation
    made = await database.fetch(
        "SELECT c.slot_id, c.node_id, c.tenant_id, c.claimed_at = l.at AS then FROM claims c"
        " JOIN fleet_changes l ON (l.revision, l.allocation_id) = (c.fence, c.allocation_id)"
    )
    assert {row["slot_id"] for row in made} == set(held.slot_ids)
    assert {tuple(row)[1:] for row in made} == {(held.node_id, held.tenant_id, True)}


async def test_nothing_else_makes_a_claim(database: Database) -> None:
    stage = await fleet_stage.build(database, nodes=1)
    await lease(stage, 2)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="line of the fleet's log"):
        async with database.transaction() as tx:
            await tx.execute(
                "INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)"
                " SELECT slot_id, fence + 1, allocation_id, tenant_id, node_id, now() FROM claims"
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
