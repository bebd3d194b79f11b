"""A plane's login may serve and nothing else; with any other the plane does not start."""

from collections.abc import Iterator

import asyncpg
import pytest
from logins import owner_url, superuser_url

from penstock.kernel import migrations
from penstock.kernel.migrations import MigrationRefused
from penstock.kernel.roles import LoginRefused
from penstock.local.postgres import EmbeddedPostgres

pytestmark = pytest.mark.anyio

CHANGES = (
    "ALTER TABLE events ADD COLUMN mine int",
    "DROP TABLE events",
    "TRUNCATE events",
    "ALTER TABLE events DISABLE ROW LEVEL SECURITY",
    "CREATE TABLE mine (n int)",
    "CREATE SCHEMA mine",
    "CREATE ROLE mine",
)
AROUND = (
    "SELECT * FROM events",
    "SELECT * FROM feed_heads",
    "SELECT * FROM schema_migrations",
    "INSERT INTO feed_heads VALUES ('x', 1)",
    "SELECT append_outgoing('[]', '[]', '{}', '{}', '{}', '{}', '{}', now())",
)
ESCAPES = (
    "SET ROLE penstock",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION penstock",
    "GRANT penstock TO CURRENT_USER",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
)


async def refused(url: str, sql: str, role: str | None) -> None:
    connection = await asyncpg.connect(url, server_settings={"role": role} if role else {})
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(sql)
    finally:
        await connection.close()


@pytest.mark.parametrize("plane", ["central", "site"])
async def test_the_login_changes_no_table_and_becomes_nobody_else(
    plane: str, central_url: str, site_url: str
) -> None:
    url = {"central": central_url, "site": site_url}[plane]
    for role in (None, f"penstock_{plane}_app", f"penstock_{plane}_system"):
        for sql in (*CHANGES, *ESCAPES):
            await refused(url, sql, role)


async def test_who_forgets_to_become_another_role_sees_nothing(central_url: str) -> None:
    for sql in AROUND:
        await refused(central_url, sql, None)


async def test_the_login_of_one_plane_is_none_of_the_other(central_url: str) -> None:
    await refused(central_url, "SET ROLE penstock_site_system", None)


async def test_the_login_needs_its_password(server: EmbeddedPostgres, central_url: str) -> None:
    wrong = central_url.replace("penstock_central:", "penstock_central:x", 1)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(wrong)


async def test_a_plane_serves_with_its_login(central_url: str, site_url: str) -> None:
    await migrations.check(central_url, "central")
    await migrations.check(site_url, "site")


async def test_no_plane_serves_as_the_owner_or_above(central_url: str) -> None:
    with pytest.raises(LoginRefused, match="logs in as penstock, which may make roles"):
        await migrations.check(owner_url(central_url), "central")
    with pytest.raises(LoginRefused, match="logs in as postgres, which is a superuser"):
        await migrations.check(superuser_url(central_url), "central")


POWERS = {
    "BYPASSRLS": "passes row-level security",
    "CREATEDB": "may make databases",
    "INHERIT": "inherits the rights of the roles that it may become",
    "IN ROLE penstock": "is the database's owner, or may be",
}


@pytest.mark.parametrize("power", POWERS)
async def test_no_plane_serves_with_a_login_that_may_more(
    server: EmbeddedPostgres, central_url: str, power: str
) -> None:
    inherits = "" if power == "INHERIT" else "NOINHERIT"
    server.execute(
        f"CREATE ROLE careless LOGIN {inherits} {power}; "
        "GRANT penstock_central_app, penstock_central_system TO careless"
    )
    try:
        url = superuser_url(central_url).replace("//postgres@", "//careless@")
        with pytest.raises(LoginRefused, match=POWERS[power]):
            await migrations.check(url, "central")
    finally:
        server.execute("DROP ROLE careless")


async def test_what_a_login_owns_is_found(server: EmbeddedPostgres, central_url: str) -> None:
    owner = await asyncpg.connect(superuser_url(central_url))
    await owner.execute("CREATE TABLE mine (n int); ALTER TABLE mine OWNER TO penstock_central")
    await owner.close()
    with pytest.raises(LoginRefused, match="owns something"):
        await migrations.check(central_url, "central")


@pytest.fixture
def empty(server: EmbeddedPostgres) -> Iterator[str]:
    server.create_database("unmigrated")
    yield server.serving_url("central", "unmigrated")
    server.drop_database("unmigrated")


async def test_a_database_that_is_not_up_to_date_is_not_served(empty: str) -> None:
    with pytest.raises(MigrationRefused, match=r"lacks every table.*penstock central --migrate"):
        await migrations.check(empty, "central")
    every = migrations.read("central")
    await migrations.migrate(owner_url(empty), "central", every[:-1])
    with pytest.raises(MigrationRefused, match=rf"lacks {every[-1].name}.*OWNER_URL"):
        await migrations.check(empty, "central")
    await migrations.migrate(owner_url(empty), "central")
    await migrations.check(empty, "central")
