"""All SQL that touches the reenrolments table."""

from typing import Any

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.reenrolments.model import Outcome, Part, Reenrolment
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import NodeId, ReenrolmentId, SiteId, TokenId

SELECT = """
    SELECT r.id, r.node_id, n.name AS node_name, n.site_id, r.token_id, r.public_key,
        n.public_key AS key_in_force, r.parts, r.requested_at,
        coalesce(r.decision, 'waiting') AS status, r.decided_at, r.decided_by, r.decided_reason
    FROM reenrolments r JOIN nodes n ON n.id = r.node_id
"""


def _read(row: asyncpg.Record) -> Reenrolment:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Reenrolment
    values["id"] = ReenrolmentId(values["id"])
    values["node_id"] = NodeId(values["node_id"])
    values["site_id"] = SiteId(values["site_id"])
    values["token_id"] = TokenId(values["token_id"])
    values["parts"] = tuple(Part.from_json(part) for part in values["parts"])
    values["status"] = Outcome(values["status"])
    return Reenrolment(**values)


async def add(
    tx: Tx,
    id: ReenrolmentId,
    node_id: NodeId,
    token_id: TokenId,
    public_key: bytes,
    evidence: dict[str, object],
    parts: tuple[Part, ...],
) -> bool:
    """False if this token's request is known."""
    added = await tx.execute(
        """
        INSERT INTO reenrolments (id, node_id, token_id, public_key, evidence, parts, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (token_id) DO NOTHING
        """,
        id,
        node_id,
        token_id,
        public_key,
        evidence,
        [part.to_json() for part in parts],
        tx.now,
    )
    return added > 0


async def get(tx: Tx, id: str) -> Reenrolment:
    row = await tx.fetchrow(f"{SELECT} WHERE r.id = $1", id)
    if row is None:
        raise NotFound("reenrolment", id)
    return _read(row)


async def waiting_of(tx: Tx, node_id: NodeId) -> list[Reenrolment]:
    rows = await tx.fetch(
        f"{SELECT} WHERE r.node_id = $1 AND r.decision IS NULL ORDER BY r.id", node_id
    )
    return [_read(row) for row in rows]


async def page(
    tx: Tx, reach: Reach, *, node_id: str | None, status: Outcome | None, after: str, limit: int
) -> list[Reenrolment]:
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE r.id > $1 AND ($2::text IS NULL OR r.node_id = $2)
            AND ($3::text IS NULL OR coalesce(r.decision, 'waiting') = $3)
            AND ($5 OR n.site_id = ANY($6))
        ORDER BY r.id LIMIT $4
        """,
        after,
        node_id,
        status,
        limit,
        reach.whole,
        reach.sites,
    )
    return [_read(row) for row in rows]


async def decide(tx: Tx, id: ReenrolmentId, status: Outcome, by: str, reason: str) -> None:
    await tx.execute(
        """
        UPDATE reenrolments SET decision = $2, decided_at = $3, decided_by = $4, decided_reason = $5
        WHERE id = $1
        """,
        id,
        status,
        tx.now,
        by,
        reason,
    )
