"""The roles of a plane's database.

The owner migrates, and nothing else is done as it. A plane logs in as a role that has no rights by
itself, and may become those that have: one for tenants' requests behind the wall (`app`), one for
the platform and its workers (`system`).
"""

import asyncpg

from penstock.kernel.settings import SettingsInvalid


class LoginRefused(SettingsInvalid):
    """A plane must not serve with a login that may do more than serve."""


def serving(plane: str) -> str:
    """Who logs in."""
    return f"penstock_{plane}"


def app(plane: str) -> str:
    return f"penstock_{plane}_app"


def system(plane: str) -> str:
    return f"penstock_{plane}_system"


async def ensure(owner: asyncpg.Connection, plane: str) -> None:
    """The plane's login, which may become the other two."""
    await owner.execute(_LOGIN.replace("{login}", serving(plane)))
    for role in (app(plane), system(plane)):
        await allow(owner, plane, role)


async def allow(owner: asyncpg.Connection, plane: str, role: str) -> None:
    """A role that the plane's login may become."""
    await owner.execute(_ROLE.replace("{role}", role).replace("{login}", serving(plane)))


async def give_rows(owner: asyncpg.Connection, role: str, schema: str) -> None:
    """What is in a schema's tables, and not the tables."""
    await owner.execute(_ROWS.replace("{role}", role).replace("{schema}", schema))


async def refuse_powerful(connection: asyncpg.Connection, plane: str) -> None:
    """Refuses a login with which whoever forgets to become another role could do anything."""
    become = [app(plane), system(plane)]
    (row,) = await connection.fetch(_POWERS, become)
    login: str = row["login"]
    powers: list[str] = row["powers"]
    if not powers:
        return
    prefix = f"PENSTOCK_{plane.upper()}_"
    raise LoginRefused(
        f"{prefix}DATABASE_URL logs in as {login}, which {' and '.join(powers)}; {plane} does not "
        f"serve with it. Log in as {serving(plane)} there, and give the owner's login in "
        f"{prefix}OWNER_URL, which is used for migrations alone"
    )


# Roles belong to the whole server, so another database may be creating them right now.
_LOGIN = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{login}') THEN
        CREATE ROLE {login} LOGIN NOINHERIT;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""

# The owner may become it too: things are given to it.
_ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        BEGIN
            CREATE ROLE {role} NOLOGIN NOINHERIT;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END IF;
    BEGIN
        GRANT {role} TO CURRENT_USER, {login};
    EXCEPTION WHEN unique_violation THEN NULL;
    END;
END $$
"""

_ROWS = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role};
"""

_POWERS = """
SELECT r.rolname AS login, array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'is a superuser' END,
    CASE WHEN r.rolbypassrls THEN 'passes row-level security' END,
    CASE WHEN r.rolcreaterole THEN 'may make roles' END,
    CASE WHEN r.rolcreatedb THEN 'may make databases' END,
    CASE WHEN pg_has_role(r.oid, d.datdba, 'MEMBER') THEN 'is the database''s owner, or may be' END,
    CASE WHEN EXISTS (
        SELECT FROM pg_shdepend o WHERE o.refclassid = 'pg_authid'::regclass
            AND o.refobjid = r.oid AND o.deptype = 'o' AND o.dbid IN (0, d.oid)
    ) THEN 'owns something' END,
    CASE WHEN has_schema_privilege(r.oid, 'public', 'CREATE') THEN 'may make tables' END,
    CASE WHEN EXISTS (
        SELECT FROM pg_roles b WHERE b.rolname = ANY($1) AND pg_has_role(r.oid, b.oid, 'USAGE')
    ) THEN 'inherits the rights of the roles that it may become' END
], NULL) AS powers
FROM pg_roles r, pg_database d
WHERE r.rolname = session_user AND d.datname = current_database()
"""
