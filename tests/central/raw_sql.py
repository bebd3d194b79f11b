"""What someone could try who has raw SQL as the app role, and tables to try it on."""

from dataclasses import dataclass
from typing import Final

import asyncpg

# {table}, and {theirs}: another tenant. Each asks for tenants' ids: only one's own may come back.
READS: Final[dict[str, str]] = {
    "plainly": "SELECT tenant_id FROM {table}",
    "only here": "SELECT tenant_id FROM ONLY {table}",
    "by name": "SELECT tenant_id FROM {table} WHERE tenant_id = '{theirs}'",
    "all others": "SELECT tenant_id FROM {table} WHERE tenant_id <> current_tenant()",
    "whatever holds": "SELECT tenant_id FROM {table} WHERE tenant_id = current_tenant() OR true",
    "the largest": "SELECT max(tenant_id) FROM {table} UNION SELECT min(tenant_id) FROM {table}",
    "in one piece": "SELECT unnest(array_agg(tenant_id)) FROM {table}",
    "the one before": "SELECT lag(tenant_id) OVER () FROM {table}",
    "a sample": "SELECT tenant_id FROM {table} TABLESAMPLE bernoulli (100)",
    "in a union": "SELECT tenant_id FROM {table} WHERE false "
    "UNION ALL SELECT tenant_id FROM {table} WHERE tenant_id = '{theirs}'",
    "in an intersection": "SELECT '{theirs}' INTERSECT SELECT tenant_id FROM {table}",
    "in a CTE": "WITH all_of_it AS MATERIALIZED (SELECT tenant_id FROM {table}) "
    "SELECT tenant_id FROM all_of_it",
    "in a CTE that calls itself": "WITH RECURSIVE more AS (SELECT '' COLLATE \"C\" AS tenant_id "
    "UNION SELECT t.tenant_id FROM {table} t, more) SELECT nullif(tenant_id, '') FROM more",
    "beside one's own": "SELECT b.tenant_id FROM {table} a CROSS JOIN {table} b",
    "as what is missing": "SELECT b.tenant_id FROM {table} a RIGHT JOIN {table} b "
    "ON a.tenant_id <> b.tenant_id",
    "row by row": "SELECT b.tenant_id FROM {table} a CROSS JOIN LATERAL "
    "(SELECT tenant_id FROM {table} WHERE tenant_id <> a.tenant_id) b",
    "whether it is there": "SELECT '{theirs}' WHERE EXISTS "
    "(SELECT FROM {table} WHERE tenant_id = '{theirs}')",
    "how many": "SELECT '{theirs}' FROM {table} "
    "HAVING count(*) <> count(*) FILTER (WHERE tenant_id = current_tenant())",
    # An error for a row that one may not see would tell of it.
    "by an error": "SELECT tenant_id FROM {table} WHERE 1 / (tenant_id <> '{theirs}')::int = 1",
    "by a cast": "SELECT tenant_id FROM {table} "
    "WHERE (CASE tenant_id WHEN '{theirs}' THEN tenant_id ELSE '0' END)::int = 0",
}

# {column} may be changed by the app role. None may touch another tenant's row.
UPDATES: Final[dict[str, str]] = {
    "all": "UPDATE {table} SET {column} = {column} RETURNING tenant_id",
    "theirs": "UPDATE {table} SET {column} = {column} WHERE tenant_id = '{theirs}' "
    "RETURNING tenant_id",
    "from theirs": "UPDATE {table} a SET {column} = b.{column} FROM {table} b "
    "WHERE b.tenant_id = '{theirs}' RETURNING b.tenant_id",
    "in a CTE": "WITH changed AS (UPDATE {table} SET {column} = {column} RETURNING tenant_id) "
    "SELECT tenant_id FROM changed",
    "while locked": "SELECT tenant_id FROM {table} FOR NO KEY UPDATE",
    "while shared": "SELECT tenant_id FROM {table} FOR SHARE",
    "by an error": "UPDATE {table} SET {column} = {column} "
    "WHERE 1 / (tenant_id <> '{theirs}')::int = 1 RETURNING tenant_id",
}
DELETES: Final[dict[str, str]] = {
    "theirs": "DELETE FROM {table} WHERE tenant_id = '{theirs}' RETURNING tenant_id",
    "using theirs": "DELETE FROM {table} a USING {table} b WHERE b.tenant_id = '{theirs}' "
    "RETURNING b.tenant_id",
    "all": "DELETE FROM {table} RETURNING tenant_id",
}
MERGES: Final[dict[str, str]] = {
    "change": "MERGE INTO {table} t USING (VALUES ('{theirs}')) AS v (x) ON t.tenant_id = v.x "
    "WHEN MATCHED THEN UPDATE SET {column} = t.{column}",
    "delete": "MERGE INTO {table} t USING (VALUES ('{theirs}')) AS v (x) ON t.tenant_id = v.x "
    "WHEN MATCHED THEN DELETE",
}


@dataclass(frozen=True)
class Table:
    """A table of tenants' rows, with what the app role may do to its columns."""

    name: str
    deletes: bool
    columns: tuple[str, ...]  # those that are written, not computed
    key: tuple[str, ...]
    unique: tuple[str, ...]  # in any key
    inserted: tuple[str, ...]
    updated: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """A foreign key between tenants' rows that the app role may write."""

    name: str
    table: str
    columns: tuple[str, ...]
    target: str
    targets: tuple[str, ...]


COLUMNS: Final = ("columns", "key", "unique", "inserted", "updated")
TABLES: Final = """
    SELECT c.relname AS name, c.oid,
        has_table_privilege($1, c.oid, 'DELETE') AS deletes,
        array(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
            AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
        array(SELECT a.attname FROM pg_index i, unnest(i.indkey) AS n
            JOIN pg_attribute a ON a.attnum = n
            WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid) AS key,
        array(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique
                AND a.attnum = ANY (i.indkey))) AS unique,
        array(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
            AND NOT a.attisdropped AND a.attgenerated = ''
            AND has_column_privilege($1, c.oid, a.attnum, 'INSERT')) AS inserted,
        array(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
            AND NOT a.attisdropped AND a.attgenerated = ''
            AND has_column_privilege($1, c.oid, a.attnum, 'UPDATE')) AS updated
    FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
        AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
            AND a.attname = 'tenant_id' AND NOT a.attisdropped)
    ORDER BY 1
"""
REFERENCES: Final = """
    SELECT k.conname AS name, k.conrelid::regclass::text AS table,
        k.confrelid::regclass::text AS target,
        array(SELECT a.attname FROM unnest(k.conkey) WITH ORDINALITY AS n (num, ord)
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.num
            ORDER BY n.ord) AS columns,
        array(SELECT a.attname FROM unnest(k.confkey) WITH ORDINALITY AS n (num, ord)
            JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = n.num
            ORDER BY n.ord) AS targets
    FROM pg_constraint k WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace
    ORDER BY 1
"""


async def tables(connection: asyncpg.Connection, role: str) -> list[Table]:
    return [
        Table(row["name"], row["deletes"], **{of: tuple(row[of]) for of in COLUMNS})
        for row in await connection.fetch(TABLES, role)
    ]


async def references(connection: asyncpg.Connection, written: list[Table]) -> list[Reference]:
    """Those that say more than whose the row is, from a table that the app role fills."""
    columns = {table.name: set(table.inserted) for table in written}
    found = [
        Reference(row["name"], row["table"], tuple(row["columns"]), row["target"],
                  tuple(row["targets"]))
        for row in await connection.fetch(REFERENCES)
    ]  # fmt: skip
    return [
        one
        for one in found
        if one.target in columns
        and set(one.columns) != {"tenant_id"}
        and set(one.columns) <= columns.get(one.table, set())
    ]
