"""The catalog lint: whatever in a plane's database is not behind the wall, and on no list.

A rule is a query for what escapes. `{app}` and `{system}` stand for the plane's roles; what it
may use besides the catalog is in PREAMBLE: `tenant` is the column of a row's tenant, `owner` one
that is made from it, for rows that may be the platform's.
"""

from collections.abc import Collection
from typing import Final

import asyncpg

from . import exceptions

PREAMBLE: Final = """
WITH role AS (
    SELECT rolname AS name, oid, rolname = '{app}' AS app FROM pg_roles
    WHERE rolname IN ('{app}', '{system}')
), ours AS (
    SELECT oid, nspname FROM pg_namespace
    WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)'
), brought AS (  -- by an extension
    SELECT objid AS oid FROM pg_depend WHERE deptype = 'e'
), relation AS (
    SELECT c.*, ours.nspname, (
            SELECT a.attnum FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
        ) AS tenant, (
            SELECT a.attnum FROM pg_attribute a
            JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
            WHERE a.attrelid = c.oid AND a.attgenerated = 's' AND NOT a.attisdropped
                AND pg_get_expr(d.adbin, d.adrelid) = 'COALESCE(tenant_id, ''''::text)') AS owner
    FROM pg_class c JOIN ours ON ours.oid = c.relnamespace
    WHERE c.oid NOT IN (SELECT oid FROM brought)
), tenant_table AS (
    SELECT * FROM relation WHERE relkind IN ('r', 'p') AND tenant IS NOT NULL
), policy AS (  -- permissive ones are joined with OR; restrictive ones only narrow those
    SELECT p.*, r.tenant IS NOT NULL AND p.roles = array['{app}'::name]
            AND coalesce(p.qual, '(tenant_id = current_tenant())')
                = '(tenant_id = current_tenant())'
            AND coalesce(p.with_check, '(tenant_id = current_tenant())')
                = '(tenant_id = current_tenant())' AS of_tenant
    FROM pg_policies p JOIN relation r ON (r.nspname, r.relname) = (p.schemaname, p.tablename)
    WHERE p.permissive = 'PERMISSIVE'
), routine AS (
    SELECT p.*, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl
    FROM pg_proc p JOIN ours ON ours.oid = p.pronamespace
    WHERE p.oid NOT IN (SELECT oid FROM brought)
), definer AS (
    SELECT * FROM routine WHERE prosecdef
)
"""

RULES: Final[dict[str, str]] = {
    "a tenant table without row-level security": """
        SELECT relname FROM tenant_table WHERE NOT relrowsecurity
    """,
    "row-level security that the owner may ignore": """
        SELECT relname FROM relation
        WHERE relkind IN ('r', 'p') AND relrowsecurity AND NOT relforcerowsecurity
    """,
    "a tenant table without the tenants' policy": """
        SELECT relname FROM tenant_table t WHERE NOT EXISTS (
            SELECT FROM policy p WHERE (p.schemaname, p.tablename) = (t.nspname, t.relname)
                AND p.cmd = 'ALL' AND p.of_tenant AND p.qual IS NOT NULL)
    """,
    "a policy that lets more through": """
        SELECT tablename || ': ' || policyname FROM policy
        WHERE NOT of_tenant AND roles <> array['{system}'::name]
    """,
    "a table of no tenant that the app role may use": """
        SELECT relname || ': ' || kind FROM relation, unnest(array[
            'SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS kind
        WHERE (relkind = 'f' OR relkind IN ('r', 'p') AND tenant IS NULL)
            AND (has_table_privilege('{app}', oid, kind) OR CASE
                WHEN kind NOT IN ('DELETE', 'TRUNCATE', 'TRIGGER')
                THEN has_any_column_privilege('{app}', oid, kind) END)
    """,
    # Row-level security has no say in these.
    "a tenant table that the app role may empty or refer to": """
        SELECT relname FROM tenant_table
        WHERE has_table_privilege('{app}', oid, 'TRUNCATE, TRIGGER')
            OR has_any_column_privilege('{app}', oid, 'REFERENCES')
    """,
    "a view that asks as its owner": """
        SELECT relname FROM relation WHERE relkind = 'm' OR relkind = 'v'
            AND NOT coalesce('security_invoker=true' = ANY (reloptions), false)
    """,
    "a rule, which acts as its owner": """
        SELECT w.rulename || ' of ' || r.relname FROM relation r
        JOIN pg_rewrite w ON w.ev_class = r.oid WHERE r.relkind NOT IN ('v', 'm')
    """,
    "a function that runs as its owner": "SELECT proname FROM definer",
    "a function that runs as its owner and looks where its caller says": """
        SELECT proname FROM definer
        WHERE proconfig IS DISTINCT FROM array['search_path=public, pg_temp']
    """,
    "a function that runs as its owner, who is not the system role": """
        SELECT proname FROM definer WHERE proowner <> '{system}'::regrole
    """,
    "a function that anyone may run": """
        SELECT proname FROM routine, aclexplode(acl) AS a WHERE a.grantee = 0
    """,
    # The planner may run it on everyone's rows, before the wall.
    "a function that is said to leak nothing": "SELECT proname FROM routine WHERE proleakproof",
    "a tenant that is not this transaction's": """
        SELECT pg_get_functiondef(oid) FROM routine WHERE proname = 'current_tenant'
            AND pg_get_function_sqlbody(oid) IS DISTINCT FROM
                'RETURN NULLIF(current_setting(''app.tenant''::text, true), ''''::text)'
    """,
    "a role with more than its grants": """
        SELECT rolname FROM pg_roles WHERE oid IN (SELECT oid FROM role) AND (rolsuper
            OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication OR rolcanlogin)
    """,
    "a role that is a member of another": """
        SELECT member::regrole || ' of ' || roleid::regrole FROM pg_auth_members
        WHERE member IN (SELECT oid FROM role)
    """,
    "something that a role owns": """
        SELECT coalesce(definer.proname, pg_describe_object(d.classid, d.objid, d.objsubid))
        FROM pg_shdepend d JOIN role ON d.refclassid = 'pg_authid'::regclass
            AND d.refobjid = role.oid AND d.deptype = 'o'
        LEFT JOIN definer ON definer.oid = d.objid AND NOT role.app
        WHERE d.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    """,
    "a schema in which a role may make things": """
        SELECT ours.nspname || ': ' || role.name FROM ours, role
        WHERE has_schema_privilege(role.oid, ours.oid, 'CREATE')
    """,
    "a table that is open to everyone": """
        SELECT relname FROM relation, aclexplode(relacl) AS a WHERE a.grantee = 0
        UNION
        SELECT r.relname || '.' || c.attname FROM relation r
        JOIN pg_attribute c ON c.attrelid = r.oid, aclexplode(c.attacl) AS a WHERE a.grantee = 0
    """,
    "what will be open from the moment it is made": """
        SELECT format('%s to %s', defaclobjtype, a.grantee::regrole)
        FROM pg_default_acl, aclexplode(defaclacl) AS a
        WHERE a.grantee = 0 OR a.grantee IN (SELECT oid FROM role)
    """,
    # A foreign key is checked behind the wall: it tells whether another tenant's row exists, and
    # ties to it, unless the tenant is a part of it.
    "a reference that may reach another tenant's row": """
        SELECT k.conname FROM pg_constraint k JOIN tenant_table r ON r.oid = k.conrelid
        JOIN tenant_table f ON f.oid = k.confrelid
        WHERE k.contype = 'f' AND r.tenant <> ALL (k.conkey)
            AND coalesce(r.owner <> ALL (k.conkey), true) AND EXISTS (
            SELECT FROM unnest(k.conkey) AS part
            WHERE has_column_privilege('{app}', r.oid, part, 'INSERT, UPDATE'))
    """,
    "a key that another tenant's row may hold": """
        SELECT i.indexrelid::regclass::text FROM pg_index i
        JOIN tenant_table r ON r.oid = i.indrelid
        WHERE i.indisunique AND i.indkey[0] <> r.tenant
            AND i.indkey[0] IS DISTINCT FROM r.owner
            AND has_any_column_privilege('{app}', r.oid, 'INSERT')
    """,
}

ALLOWED: Final[dict[str, Collection[str]]] = {
    "a policy that lets more through": {"slots: tenant"},  # a tenant's live claims say which
    "a table of no tenant that the app role may use": exceptions.SHARED,
    "a function that runs as its owner": exceptions.DEFINERS,
    "something that a role owns": exceptions.DEFINERS,
    "a function that anyone may run": exceptions.PUBLIC,
    "a key that another tenant's row may hold": exceptions.GLOBAL_KEYS,
}


async def find(connection: asyncpg.Connection, plane: str) -> dict[str, set[str]]:
    """What escapes, by rule; nothing when the wall is whole."""
    found = {name: await _ask(connection, plane, rule) for name, rule in RULES.items()}
    escaped = {name: found[name].difference(ALLOWED.get(name, ())) for name in found}
    return {name: them for name, them in escaped.items() if them}


async def listed_in_vain(connection: asyncpg.Connection, plane: str) -> set[str]:
    """What is on a list and not in the catalog: an exception that outlived its reason."""
    vain: set[str] = set()
    for name, allowed in ALLOWED.items():
        vain |= set(allowed) - await _ask(connection, plane, RULES[name])
    return vain


async def _ask(connection: asyncpg.Connection, plane: str, rule: str) -> set[str]:
    app, system = f"penstock_{plane}_app", f"penstock_{plane}_system"
    sql = (PREAMBLE + rule).replace("{app}", app).replace("{system}", system)
    return {str(row[0]) for row in await connection.fetch(sql)}
