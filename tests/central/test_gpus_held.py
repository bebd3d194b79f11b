"""The trigger that counts what is held: bulk statements, waiting leases, and nothing else."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import asyncpg
import pytest
from logins import owner_url

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.central.projects import service as projects
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM

from . import fleet_stage

pytestmark = pytest.mark.anyio

# So many copies of the lease there is, with these changes to each.
COPIES = """
INSERT INTO allocations SELECT (jsonb_populate_record(a, $2::jsonb || jsonb_build_object(
    'id', $1 || n))).* FROM allocations a, generate_series(1, $3::int) AS n WHERE a.id = $4
"""
SYSTEM_ROLE = "penstock_central_system"


@dataclass
class Table:
    """The allocations table of a tenant with one lease of 2 GPUs in project main."""

    system: asyncpg.Connection
    lease: str
    second: str  # another project

    async def copy(self, prefix: str, count: int, changes: str = "{}") -> None:
        await self.system.execute(COPIES, prefix, changes, count, self.lease)

    async def held(self) -> dict[tuple[str, str], int]:
        rows = await self.system.fetch(
            "SELECT name, family, gpus FROM gpus_held h JOIN projects p ON p.id = h.project_id"
        )
        return {(row["name"], row["family"]): row["gpus"] for row in rows}

    async def nodes(self) -> int:
        return await self.system.fetchval("SELECT sum(nodes)::int FROM gpus_held")

    async def untrue(self) -> int:
        return await self.system.fetchval("SELECT count(*) FROM invariant_gpus_held_out_of_step")


@pytest.fixture
async def table(central_url: str) -> AsyncGenerator[Table, None]:
    database = await db.connect(central_url, "central")
    stage = await fleet_stage.build(database, nodes=1)
    (placed,) = await Committer(database).commit([stage.ask(2)])
    assert isinstance(placed, Placed)
    async with database.transaction() as tx:
        second = await projects.create(tx, SYSTEM, name="second", tenant=stage.tenant_id)
    await database.close()
    owner = await asyncpg.connect(owner_url(central_url))
    # The trigger counts by node alone; what else goes with having one is not its matter.
    await owner.execute("ALTER TABLE allocations DROP CONSTRAINT placed_is_somewhere")
    await owner.execute("ALTER TABLE allocations DROP CONSTRAINT placed_on_slots")
    await owner.close()
    system = await asyncpg.connect(central_url, server_settings={"role": SYSTEM_ROLE})
    yield Table(system, placed.allocation.id, second.id)
    await system.close()


async def test_a_bulk_insert_is_counted_by_project_and_family(table: Table) -> None:
    assert await table.held() == {("main", "h100"): 2}
    await table.copy("alloc_a", 100)
    await table.copy("alloc_b", 3, '{"family": "a100", "gpus": 4}')
    await table.copy("alloc_c", 5, f'{{"project_id": "{table.second}", "gpus": 1}}')
    await table.copy("alloc_d", 5, '{"freed_at": "2026-01-01T00:00:00Z"}')
    assert await table.held() == {
        ("main", "h100"): 202, ("main", "a100"): 12, ("second", "h100"): 5,
    }  # fmt: skip
    assert await table.untrue() == 0


async def test_who_waits_counts_only_once_it_has_a_node(table: Table) -> None:
    await table.copy("alloc_w", 10, '{"node_id": null, "family": "a100"}')
    assert await table.held() == {("main", "h100"): 2}
    place = "UPDATE allocations a SET node_id = n.id FROM nodes n WHERE a.id = ANY($1)"
    await table.system.execute(place, [f"alloc_w{n}" for n in range(1, 8)])
    assert await table.held() == {("main", "h100"): 2, ("main", "a100"): 14}
    await table.system.execute(place, [f"alloc_w{n}" for n in range(5, 10)])
    assert (await table.held())["main", "a100"] == 18, "those that had a node count once"
    cancel = "UPDATE allocations SET freed_at = now() WHERE id = 'alloc_w10'"
    assert await table.system.execute(cancel) == "UPDATE 1"
    assert (await table.held())["main", "a100"] == 18, "what never counted is not given back"
    await table.system.execute("UPDATE allocations SET freed_at = now() WHERE freed_at IS NULL")
    assert set((await table.held()).values()) == {0}
    await table.system.execute("UPDATE allocations SET freed_at = now()")
    assert set((await table.held()).values()) == {0}
    assert await table.untrue() == 0


async def test_one_statement_may_give_to_one_and_take_from_another(table: Table) -> None:
    await table.copy("alloc_m", 3)
    await table.copy("alloc_w", 4, f'{{"node_id": null, "project_id": "{table.second}"}}')
    await table.system.execute(
        """
        UPDATE allocations a SET node_id = n.id,
            freed_at = CASE WHEN a.id LIKE 'alloc_m%' THEN now() END FROM nodes n
        """
    )
    assert await table.held() == {("main", "h100"): 2, ("second", "h100"): 8}
    assert await table.untrue() == 0


async def test_whole_nodes_are_counted_beside_their_gpus(table: Table) -> None:
    await table.copy("alloc_b", 3, '{"shape": "baremetal", "gpus": 8}')
    await table.copy("alloc_w", 8, '{"node_id": null, "gpus": 1}')
    assert await table.nodes() == 3
    # One whole node goes and as many GPUs come: what is left is the same, of GPUs only.
    await table.system.execute(
        """
        UPDATE allocations a SET node_id = n.id,
            freed_at = CASE WHEN a.id = 'alloc_b1' THEN now() END FROM nodes n
        WHERE a.id = 'alloc_b1' OR a.id LIKE 'alloc_w%'
        """
    )
    assert await table.nodes() == 2
    assert await table.held() == {("main", "h100"): 26}
    # And the other way round, with fewer GPUs than before.
    await table.copy("alloc_x", 1, '{"node_id": null, "shape": "baremetal", "gpus": 4}')
    await table.system.execute(
        """
        UPDATE allocations a SET node_id = n.id,
            freed_at = CASE WHEN a.id LIKE 'alloc_w%' THEN now() END FROM nodes n
        WHERE a.id LIKE 'alloc_w%' OR a.id LIKE 'alloc_x%'
        """
    )
    assert await table.nodes() == 3
    assert await table.held() == {("main", "h100"): 22}
    assert await table.untrue() == 0


async def test_what_does_not_count_writes_nothing(table: Table) -> None:
    """So that reports and releases, which take no fleet lock, wait for nobody's count."""
    before = await table.system.fetch("SELECT ctid, xmin FROM gpus_held")
    await table.system.execute("UPDATE allocations SET desired = 'released', revision = 9")
    await table.system.execute("UPDATE allocations SET observed = 'active' WHERE false")
    await table.copy("alloc_w", 3, '{"node_id": null}')
    assert await table.system.fetch("SELECT ctid, xmin FROM gpus_held") == before


async def test_giving_back_what_is_not_held_is_refused(table: Table) -> None:
    async with table.system.transaction():
        await table.system.execute("UPDATE gpus_held SET gpus = 1")
    with pytest.raises(asyncpg.CheckViolationError):
        await table.system.execute("UPDATE allocations SET freed_at = now()")
