"""All SQL that touches the pools table."""

from collections.abc import Sequence

import asyncpg

from penstock.central.pools.model import Kind, Numbers, Pool
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import PoolId, SiteId

SELECT = """
    SELECT id, name, kind, site_id, lower(numbers) AS first, upper(numbers) - 1 AS last, prefix,
        created_at, created_by FROM pools
"""


def _pool(row: asyncpg.Record) -> Pool:
    return Pool(
        PoolId(row["id"]),
        row["name"],
        Kind(row["kind"]),
        SiteId(row["site_id"]) if row["site_id"] else None,
        row["prefix"] or Numbers(row["first"], row["last"]),
        row["created_at"],
        row["created_by"],
    )


async def add(tx: Tx, pool: Pool) -> None:
    numbers = pool.extent if isinstance(pool.extent, Numbers) else None
    try:
        await tx.execute(
            """
            INSERT INTO pools
                (id, name, kind, site_id, numbers, prefix, created_at, created_by)
            VALUES ($1, $2, $3, $4, CASE WHEN $5::bigint IS NOT NULL
                THEN int8range($5, $6, '[]') END, $7, $8, $9)
            """,
            pool.id,
            pool.name,
            pool.kind,
            pool.site_id,
            numbers.first if numbers else None,
            numbers.last if numbers else None,
            None if numbers else pool.extent,
            pool.created_at,
            pool.created_by,
        )
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a pool named {pool.name!r} already", code="name_taken") from None
    except asyncpg.ExclusionViolationError:
        raise Conflict(
            f"another {pool.kind} pool has some of {pool.bounds} already",
            code="pools_overlap",
            suggestion="`penstock pool ls` lists what is taken; a site's pools must also be "
            "apart from the global ones",
        ) from None


async def get(tx: Tx, reference: str) -> Pool:
    row = await tx.fetchrow(f"{SELECT} WHERE id = $1 OR name = $1", reference)
    if row is None:
        raise NotFound("pool", reference)
    return _pool(row)


async def page(tx: Tx, after: str, limit: int) -> list[Pool]:
    rows = await tx.fetch(f"{SELECT} WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
    return [_pool(row) for row in rows]


async def within(tx: Tx, site_id: SiteId | None, kinds: Sequence[Kind]) -> list[Pool]:
    """The pools of a scope, those with the lowest values first."""
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE site_id IS NOT DISTINCT FROM $1 AND kind = ANY($2)
        ORDER BY kind, lower(numbers), prefix
        """,
        site_id,
        list(kinds),
    )
    return [_pool(row) for row in rows]
