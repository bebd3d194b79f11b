"""Planes as processes: the owner migrates and does not serve; who serves does not migrate."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from logins import owner_url

from penstock.kernel import migrations
from penstock.kernel.migrations import MigrationRefused
from penstock.local.postgres import EmbeddedPostgres
from penstock.site import engine
from penstock.site.settings import SiteSettings

pytestmark = pytest.mark.anyio

COMMAND = "import sys; from penstock_client.main import main; sys.exit(main())"
ENGINE = (
    "ALTER TABLE dbos.workflow_status ADD COLUMN mine int",
    "DROP TABLE dbos.workflow_status",
    "TRUNCATE dbos.workflow_status",
    "CREATE TABLE dbos.mine (n int)",
    "SELECT * FROM executors",
)


def penstock(plane: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    given = {f"PENSTOCK_{plane.upper()}_{name}": value for name, value in settings.items()}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, plane, *arguments],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def empty(server: EmbeddedPostgres) -> Iterator[Callable[[str], str]]:
    made: list[str] = []

    def make(plane: str) -> str:
        made.append(f"empty_{plane}")
        server.create_database(made[-1])
        return server.serving_url(plane, made[-1])

    yield make
    for name in made:
        server.drop_database(name)


@pytest.mark.parametrize("plane", ["central", "site"])
def test_a_plane_given_the_owner_to_serve_with_does_not_start(
    plane: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    owner = owner_url(new_database(plane))
    ended = penstock(plane, DATABASE_URL=owner, DATA=str(tmp_path))
    assert ended.returncode == 2
    assert f"PENSTOCK_{plane.upper()}_DATABASE_URL logs in as penstock" in ended.stderr
    assert f"PENSTOCK_{plane.upper()}_OWNER_URL" in ended.stderr


def test_without_the_owner_nothing_is_migrated(empty: Callable[[str], str], tmp_path: Path) -> None:
    url = empty("central")
    ended = penstock("central", DATABASE_URL=url, DATA=str(tmp_path))
    assert ended.returncode == 1
    assert "the database lacks every table" in ended.stderr
    ended = penstock("central", "--migrate", DATABASE_URL=url, DATA=str(tmp_path))
    assert ended.returncode == 2
    assert "PENSTOCK_CENTRAL_OWNER_URL is not set" in ended.stderr


@pytest.mark.parametrize("plane", ["central", "site"])
async def test_a_database_is_migrated_by_its_owner_once_for_all_who_serve(
    plane: str, empty: Callable[[str], str], tmp_path: Path
) -> None:
    url = empty(plane)
    for _ in range(2):
        ended = penstock(
            plane, "--migrate", DATABASE_URL=url, OWNER_URL=owner_url(url), DATA=str(tmp_path)
        )
        assert ended.returncode == 0, ended.stderr
    await migrations.check(url, plane)


async def test_the_workflow_engine_changes_rows_and_no_table(site_url: str, tmp_path: Path) -> None:
    await engine.migrate(owner_url(site_url))
    login = await asyncpg.connect(site_url)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await login.execute("SELECT * FROM dbos.workflow_status")
    await login.execute(f"SET ROLE {engine.ROLE}")
    await login.execute("UPDATE dbos.workflow_status SET name = name")
    for sql in ENGINE:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await login.execute(sql)
    await login.close()


async def test_an_engine_without_its_tables_says_what_to_do(
    new_database: Callable[[str], str], tmp_path: Path
) -> None:
    await engine.migrate(owner_url(new_database("site")))  # the role is there, of another site's
    settings = SiteSettings(database_url=new_database("site"), data=tmp_path)
    engine.prepare(settings)
    try:
        with pytest.raises(MigrationRefused, match="penstock site --migrate"):
            engine.launch()
    finally:
        await engine.stop()
