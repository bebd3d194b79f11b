"""A session serves one tenant after another: what it prepared, and what was set, tells nothing."""

import asyncpg
import pytest

from penstock.kernel import db
from penstock_contracts.ids import TenantId

from .wall_stage import APP, Wall, app_role, session

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("plans", ["auto", "force_generic_plan", "force_custom_plan"])
async def test_a_prepared_statement_shows_each_tenant_its_own(wall: Wall, plans: str) -> None:
    connection = await asyncpg.connect(wall.url, server_settings={"role": APP})
    await connection.execute(f"SET plan_cache_mode = {plans}")
    for table in wall.tables:
        prepared = await connection.prepare(f"SELECT tenant_id FROM {table.name} WHERE $1::bool")
        for turn in range(8):  # a plan is kept from the sixth on
            tenant = (wall.mine, wall.theirs, "")[turn % 3]
            async with connection.transaction():
                await connection.execute("SELECT set_config('app.tenant', $1, true)", tenant)
                found = {row[0] for row in await prepared.fetch(True)}
            assert found == ({tenant} if tenant else set()), table.name
        assert await prepared.fetch(True) == []
    await connection.close()


async def test_a_statement_that_was_prepared_with_more_rights_keeps_none(wall: Wall) -> None:
    async with session(wall.url) as superuser:
        for table in wall.tables:
            prepared = await superuser.prepare(f"SELECT tenant_id FROM {table.name}")
            assert {wall.mine, wall.theirs} <= {row[0] for row in await prepared.fetch()}
            async with superuser.transaction():
                await superuser.execute("SELECT set_config('app.tenant', $1, true)", wall.mine)
                await superuser.execute(f"SET LOCAL ROLE {APP}")
                assert {row[0] for row in await prepared.fetch()} == {wall.mine}, table.name


async def test_a_tenant_that_is_set_within_ends_with_the_transaction(wall: Wall) -> None:
    """That it can be set is what the wall cannot help; that it stays set, it does not."""
    ids = "SELECT id FROM tenants"
    async with app_role(wall.url, wall.mine) as app:
        savepoint = app.transaction()
        await savepoint.start()
        await app.execute("SELECT set_config('app.tenant', $1, true)", wall.theirs)
        assert await app.fetchval(ids) == wall.theirs
        await savepoint.rollback()
        assert await app.fetchval(ids) == wall.mine, "a savepoint takes it back"
    database = await db.connect(wall.url, "central", size=1)
    for lasting in (False, True):
        async with database.transaction(tenant=TenantId(wall.mine)) as tx:
            await tx.execute("SELECT set_config('app.tenant', $1, $2)", wall.theirs, not lasting)
        async with database.transaction(tenant=TenantId(wall.mine)) as tx:
            rows = [row["id"] for row in await tx.fetch(ids)]
            assert rows == [wall.mine], "each transaction says whose it is"
    await database.close()
