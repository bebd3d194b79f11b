"""Nothing in a plane's database escapes the wall; and what would, is found."""

from collections.abc import AsyncGenerator

import asyncpg
import pytest
from logins import owner_url

from penstock.local.postgres import EmbeddedPostgres

from . import escapes

pytestmark = pytest.mark.anyio

APP, SYSTEM = "penstock_central_app", "penstock_central_system"
DEFINER = (
    "RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS 'SELECT 1'"
)

# What a migration, or somebody in a hurry, could do: by the rule that finds it.
PLANTED: dict[str, list[str]] = {
    "a tenant table without row-level security": [
        "CREATE TABLE things (id text, tenant_id text)",
        "ALTER TABLE allocations DISABLE ROW LEVEL SECURITY",
        "CREATE SCHEMA other; CREATE TABLE other.things (tenant_id text)",
    ],
    "row-level security that the owner may ignore": [
        "ALTER TABLE allocations NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE slots NO FORCE ROW LEVEL SECURITY",
    ],
    "a tenant table without the tenants' policy": [
        "DROP POLICY tenant ON claims",
        f"ALTER POLICY tenant ON claims TO {SYSTEM}",
        "ALTER POLICY tenant ON claims USING (tenant_id = 't' OR tenant_id = current_tenant())",
        "ALTER POLICY tenant ON claims WITH CHECK (true)",
    ],
    "a policy that lets more through": [
        "CREATE POLICY more ON claims FOR SELECT USING (true)",
        f"CREATE POLICY more ON claims FOR SELECT TO {APP} USING (freed_at IS NULL)",
        f"CREATE POLICY more ON claims FOR INSERT TO {APP} WITH CHECK (true)",
        f"CREATE POLICY more ON slots TO {APP} USING (true)",
    ],
    "a table of no tenant that the app role may use": [
        f"GRANT SELECT ON nodes TO {APP}",
        f"GRANT SELECT (public_key) ON nodes TO {APP}",
        f"GRANT UPDATE (name) ON skus TO {APP}",
        f"GRANT DELETE ON slots TO {APP}",
        f"CREATE TABLE tariffs (n int); GRANT INSERT ON tariffs TO {APP}",
    ],
    "a tenant table that the app role may empty or refer to": [
        f"GRANT TRUNCATE ON claims TO {APP}",
        f"GRANT TRIGGER ON claims TO {APP}",
        f"GRANT REFERENCES (slot_id) ON claims TO {APP}",
    ],
    "a view that asks as its owner": [
        "CREATE VIEW all_of_it AS SELECT * FROM allocations",
        "ALTER VIEW fleet_nodes SET (security_invoker = false)",
        "CREATE MATERIALIZED VIEW all_of_it AS SELECT * FROM allocations",
    ],
    "a rule, which acts as its owner": [
        "CREATE RULE more AS ON UPDATE TO claims DO ALSO DELETE FROM projects",
    ],
    "a function that runs as its owner": [f"CREATE FUNCTION more() {DEFINER}"],
    "a function that runs as its owner and looks where its caller says": [
        "ALTER FUNCTION append_outgoing RESET search_path",
        "ALTER FUNCTION append_outgoing SET search_path = pg_temp, public",
    ],
    "a function that runs as its owner, who is not the system role": [
        "ALTER FUNCTION append_outgoing OWNER TO penstock",
    ],
    "a function that anyone may run": [
        "GRANT EXECUTE ON FUNCTION append_outgoing TO PUBLIC",
        "GRANT EXECUTE ON FUNCTION wall_off TO PUBLIC",
        "CREATE FUNCTION more() RETURNS int LANGUAGE sql RETURN 1",
    ],
    "a function that is said to leak nothing": ["ALTER FUNCTION cost_micros LEAKPROOF"],
    "a tenant that is not this transaction's": [
        "CREATE OR REPLACE FUNCTION current_tenant() RETURNS text LANGUAGE sql STABLE RETURN 't'",
        "CREATE OR REPLACE FUNCTION current_tenant() RETURNS text LANGUAGE sql AS 'SELECT ''t'''",
    ],
    "a role with more than its grants": [
        f"ALTER ROLE {APP} BYPASSRLS",
        f"ALTER ROLE {SYSTEM} SUPERUSER",
        f"ALTER ROLE {APP} LOGIN",
    ],
    "a role that is a member of another": [
        f"GRANT {SYSTEM} TO {APP}",
        f"GRANT pg_read_all_data TO {APP}",
        f"GRANT pg_write_all_data TO {SYSTEM}",
    ],
    "something that a role owns": [
        f"ALTER TABLE skus OWNER TO {APP}",
        f"ALTER TABLE claims OWNER TO {SYSTEM}",
        f"ALTER FUNCTION append_outgoing OWNER TO {APP}",
        f"ALTER FUNCTION wall_off OWNER TO {SYSTEM}",
    ],
    "a schema in which a role may make things": [
        f"GRANT CREATE ON SCHEMA public TO {SYSTEM}",
        "GRANT CREATE ON SCHEMA public TO PUBLIC",
        f"CREATE SCHEMA other AUTHORIZATION {APP}",
    ],
    "a table that is open to everyone": [
        "GRANT SELECT ON sites TO PUBLIC",
        "GRANT SELECT (name) ON sites TO PUBLIC",
    ],
    "what will be open from the moment it is made": [
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {APP}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO PUBLIC",
    ],
    "a reference that may reach another tenant's row": [
        "ALTER TABLE quotas ADD FOREIGN KEY (project_id) REFERENCES projects",
    ],
    "a key that another tenant's row may hold": [
        "CREATE UNIQUE INDEX by_name ON projects (name)",
    ],
}


@pytest.fixture(scope="module")
async def superuser(
    server: EmbeddedPostgres, templates: dict[str, str]
) -> AsyncGenerator[asyncpg.Connection, None]:
    server.create_database("escapes", template=templates["central"])
    connection = await asyncpg.connect(server.url("escapes", role="postgres"))
    yield connection
    await connection.close()
    server.drop_database("escapes")


async def test_nothing_escapes(central_url: str, site_url: str) -> None:
    for url, plane in ((central_url, "central"), (site_url, "site")):
        owner = await asyncpg.connect(owner_url(url))
        assert await escapes.find(owner, plane) == {}, plane
        await owner.close()


async def test_each_exception_is_still_one(superuser: asyncpg.Connection) -> None:
    assert await escapes.listed_in_vain(superuser, "central") == set()


def test_each_rule_is_put_to_the_test() -> None:
    assert PLANTED.keys() == escapes.RULES.keys()


@pytest.mark.parametrize(
    ("rule", "sql"), [(rule, sql) for rule, planted in PLANTED.items() for sql in planted]
)
async def test_what_escapes_is_found(superuser: asyncpg.Connection, rule: str, sql: str) -> None:
    """Planted in a transaction that never ends well, so the next one finds the wall whole."""
    planting = superuser.transaction()
    await planting.start()
    try:
        await superuser.execute(sql)
        assert rule in await escapes.find(superuser, "central")
    finally:
        await planting.rollback()
    assert await escapes.find(superuser, "central") == {}
