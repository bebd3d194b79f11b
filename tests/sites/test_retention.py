"""What grows at a site goes when it is old; documents go with their tombstones (tests/site)."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest
from dbos import DBOS

from penstock.kernel import db, invariants
from penstock.kernel.db import Database
from penstock.kernel.retention import Trimmer
from penstock.site import engine, retention
from penstock.site.settings import SiteSettings
from tests.logins import owner_url

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(site_url: str) -> AsyncGenerator[Database, None]:
    opened = await db.connect(site_url, "site")
    yield opened
    await opened.close()


async def count(database: Database, table: str) -> int:
    async with database.transaction() as tx:
        found: int = await tx.fetchval(f"SELECT count(*) FROM {table}")
    return found


async def test_old_tasks_go_in_batches_and_overdue_ones_are_seen(
    database: Database, site_url: str, tmp_path: Path
) -> None:
    owner = await asyncpg.connect(owner_url(site_url))
    await owner.execute("INSERT INTO nodes VALUES ('node_1', 'n', 'key', now())")
    await owner.execute(
        """
        INSERT INTO tasks (id, node_id, created_at, deadline)
        SELECT 'task' || n, 'node_1', now(), now() - n * interval '1 day'
        FROM generate_series(1, 30) n
        """
    )
    await owner.execute("INSERT INTO retentions VALUES ('tasks', interval '14 days', 0, now(), '')")
    async with database.transaction() as tx:
        found = {each.name: each.violations for each in await invariants.check(tx)}
    assert found["retention_overdue"] == 1
    settings = SiteSettings.model_validate({"database_url": site_url, "data": tmp_path})
    trimmer = retention.trimmer(database, settings)
    kinds = [kind for kind in trimmer.kinds if kind.name != "workflows"]
    assert await Trimmer(database, 60, kinds).trim() == {"tasks": 17}
    assert await count(database, "tasks") == 13
    async with database.transaction() as tx:
        assert not any(each.violations for each in await invariants.check(tx))
    await owner.close()


async def test_workflows_that_ended_go_with_their_steps(
    database: Database, site_url: str, tmp_path: Path
) -> None:
    settings = SiteSettings.model_validate({"database_url": site_url, "data": tmp_path})
    await engine.migrate(owner_url(site_url))
    engine.prepare(settings)

    @DBOS.step(name="noted")
    async def note() -> str:
        return "noted"

    @DBOS.workflow(name="kept_for_a_while")
    async def work() -> str:
        return await note()

    engine.launch()
    try:
        assert await work() == "noted"
        owner = await asyncpg.connect(owner_url(site_url))
        steps = "SELECT count(*) FROM dbos.operation_outputs"
        assert await owner.fetchval(steps) == 1
        now = await owner.fetchval("SELECT now()")
        assert (await retention.forget_workflows(now - timedelta(days=14))).gone == 0
        await owner.execute(
            "UPDATE dbos.workflow_status SET completed_at = completed_at - 1300000000"
        )
        assert (await retention.forget_workflows(now - timedelta(days=14))).gone == 1
        for table in ("workflow_status", "operation_outputs", "workflow_input", "workflow_output"):
            assert await owner.fetchval(f"SELECT count(*) FROM dbos.{table}") == 0, table
        await owner.close()
    finally:
        await engine.stop()
