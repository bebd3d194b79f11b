"""All SQL that touches the sites and site_tokens tables."""

from datetime import datetime
from typing import Any

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.sites.model import Site
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import SiteId, TokenId

COLUMNS = (
    "id, name, auto_approve, public_key, ca_public_key, join_address, version, connected, "
    "connected_at, away, tags, created_at"
)


def _site(row: asyncpg.Record) -> Site:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Site
    values["id"] = SiteId(values["id"])
    values["tags"] = tuple(values["tags"])
    return Site(**values)


async def add(tx: Tx, site: Site) -> None:
    added = await tx.execute(
        """
        INSERT INTO sites (id, name, auto_approve, tags, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) DO NOTHING
        """,
        site.id,
        site.name,
        site.auto_approve,
        list(site.tags),
        site.created_at,
    )
    if not added:
        raise Conflict(f"there is a site named {site.name!r} already", code="name_taken")


async def get(tx: Tx, reference: str) -> Site:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM sites WHERE $1 IN (id, name)", reference)
    if row is None:
        raise NotFound("site", reference)
    return _site(row)


async def by_key(tx: Tx, public_key: bytes) -> Site | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM sites WHERE public_key = $1", public_key)
    return _site(row) if row else None


async def page(tx: Tx, reach: Reach, after: str, limit: int) -> list[Site]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM sites WHERE id > $1 AND ($3 OR id = ANY($4)) ORDER BY id LIMIT $2
        """,
        after,
        limit,
        reach.whole,
        reach.sites,
    )
    return [_site(row) for row in rows]


async def names(tx: Tx) -> dict[SiteId, str]:
    rows = await tx.fetch("SELECT id, name FROM sites")
    return {SiteId(row["id"]): row["name"] for row in rows}


async def set_keys(tx: Tx, id: SiteId, public_key: bytes, ca_public_key: bytes) -> None:
    """Its own key, and the one of its certificate authority."""
    try:
        await tx.execute(
            "UPDATE sites SET public_key = $2, ca_public_key = $3 WHERE id = $1",
            id,
            public_key,
            ca_public_key,
        )
    except asyncpg.UniqueViolationError:
        raise Conflict("this key is another site's; a site needs one of its own") from None


async def describe(tx: Tx, id: SiteId, *, join_address: str, version: str) -> None:
    await tx.execute(
        "UPDATE sites SET join_address = $2, version = $3 WHERE id = $1", id, join_address, version
    )


async def set_tags(tx: Tx, id: SiteId, tags: tuple[str, ...]) -> None:
    await tx.execute("UPDATE sites SET tags = $2 WHERE id = $1", id, list(tags))


async def connect(tx: Tx, id: SiteId, session: str) -> bool:
    """True if it had been away."""
    was_away: bool = await tx.fetchval(
        """
        UPDATE sites SET connected = true, connected_at = $3, session = $2, away = false
        FROM (SELECT away FROM sites WHERE id = $1) AS before
        WHERE id = $1 RETURNING before.away
        """,
        id,
        session,
        tx.now,
    )
    return was_away


async def disconnect(tx: Tx, id: SiteId, session: str) -> bool:
    """Only the session that connected it can disconnect it: a newer one may have begun."""
    changed = await tx.execute(
        """
        UPDATE sites SET connected = false, connected_at = $3
        WHERE id = $1 AND session = $2 AND connected
        """,
        id,
        session,
        tx.now,
    )
    return changed > 0


async def disconnect_all(tx: Tx, replica: str) -> None:
    """Connections that died with the process that served them."""
    await tx.execute(
        """
        UPDATE sites SET connected = false, connected_at = $2
        WHERE connected AND starts_with(session, $1 || ':')
        """,
        replica,
        tx.now,
    )


async def missing_since(tx: Tx, watched_since: datetime) -> datetime | None:
    """Since when the longest missing of the sites that are not connected, nor away yet, is
    missing. A site that never connected is not missing; nor could one be before anyone watched."""
    since: datetime | None = await tx.fetchval(
        """
        SELECT min(greatest(connected_at, $1)) FROM sites
        WHERE NOT connected AND NOT away AND connected_at IS NOT NULL
        """,
        watched_since,
    )
    return since


async def set_away(tx: Tx, missing_since: datetime) -> list[SiteId]:
    """The sites that have been missing since then or longer are away from now on."""
    rows = await tx.fetch(
        """
        UPDATE sites SET away = true
        WHERE NOT connected AND NOT away AND connected_at <= $1 RETURNING id
        """,
        missing_since,
    )
    return [SiteId(row["id"]) for row in rows]


async def add_token(
    tx: Tx, id: TokenId, site_id: SiteId, secret_sha256: bytes, expires_at: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO site_tokens (id, site_id, secret_sha256, expires_at, created_at)
        VALUES ($1, $2, $3, $4, $5)
        """,
        id,
        site_id,
        secret_sha256,
        expires_at,
        tx.now,
    )


async def use_token(tx: Tx, id: str, secret_sha256: bytes, public_key: bytes) -> SiteId | None:
    """The token's site, if it is this key's to use: one key wins, and may ask again."""
    site_id = await tx.fetchval(
        """
        UPDATE site_tokens SET used_by = $3
        WHERE id = $1 AND secret_sha256 = $2 AND expires_at > $4
            AND (used_by IS NULL OR used_by = $3)
        RETURNING site_id
        """,
        id,
        secret_sha256,
        public_key,
        tx.now,
    )
    return SiteId(site_id) if site_id else None
