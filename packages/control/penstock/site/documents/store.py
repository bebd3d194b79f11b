"""All SQL that touches the documents table, and what was told of each: observations and steps."""

from collections.abc import Collection
from datetime import datetime

from penstock.kernel.db import Record, Tx
from penstock.site.documents.model import Document, Kept

COLUMNS = "kind, key, revision, correlation_id, body"


async def put(tx: Tx, document: Document) -> bool:
    """Keep it if it is newer than what is kept; whether it is."""
    changed = await tx.execute(
        """
        INSERT INTO documents AS d (kind, key, revision, correlation_id, body, received_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kind, key) DO UPDATE
            SET revision = excluded.revision, correlation_id = excluded.correlation_id,
                body = excluded.body, received_at = excluded.received_at,
                version = 0, cancelled = ''
            WHERE d.revision < excluded.revision
        """,
        document.kind,
        document.key,
        document.revision,
        document.correlation_id,
        document.body,
        tx.now,
    )
    return changed > 0


async def drop(tx: Tx, kind: str, key: str, revision: int) -> bool:
    """With all that was told of it, unless a newer revision is kept; whether there was one."""
    dropped = await tx.execute(
        "DELETE FROM documents WHERE kind = $1 AND key = $2 AND revision <= $3",
        kind,
        key,
        revision,
    )
    return dropped > 0


async def kept(tx: Tx, kind: str, key: str, *, lock: bool = False) -> Kept | None:
    row = await tx.fetchrow(
        "SELECT revision, version, cancelled FROM documents WHERE kind = $1 AND key = $2"
        + (" FOR NO KEY UPDATE" if lock else ""),
        kind,
        key,
    )
    return None if row is None else Kept(*row)


async def unstarted(tx: Tx, kinds: Collection[str]) -> list[Document]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM documents
        WHERE started_revision < revision AND kind = ANY($1) ORDER BY received_at
        """,
        list(kinds),
    )
    return [_document(row) for row in rows]


async def mark_started(tx: Tx, document: Document, version: int) -> bool:
    """Whether its workflow is of a newer version than the one started before."""
    before: int | None = await tx.fetchval(
        """
        WITH before AS (
            SELECT version FROM documents WHERE kind = $1 AND key = $2 FOR NO KEY UPDATE
        )
        UPDATE documents d
        SET started_revision = greatest(d.started_revision, $3),
            version = CASE WHEN d.revision = $3 THEN greatest(d.version, $4) ELSE d.version END
        FROM before WHERE d.kind = $1 AND d.key = $2 RETURNING before.version
        """,
        document.kind,
        document.key,
        document.revision,
        version,
    )
    return before is not None and 0 < before < version


async def restart(tx: Tx, kind: str, key: str, revision: int) -> bool:
    """Have a workflow started again for this revision; whether it is still the newest."""
    changed = await tx.execute(
        """
        UPDATE documents SET started_revision = 0
        WHERE kind = $1 AND key = $2 AND revision = $3
        """,
        kind,
        key,
        revision,
    )
    return changed > 0


async def cancel(tx: Tx, kind: str, key: str, revision: int, reason: str) -> bool:
    """Whether it is still the newest revision, and so can be given up."""
    changed = await tx.execute(
        """
        UPDATE documents SET cancelled = $4 WHERE kind = $1 AND key = $2 AND revision = $3
        """,
        kind,
        key,
        revision,
        reason,
    )
    return changed > 0


async def observe(tx: Tx, document: Document, observed: str) -> datetime | None:
    """When it was observed, if this is the first time; None if it was before, or is gone."""
    at: datetime | None = await tx.fetchval(
        """
        INSERT INTO observations (kind, key, observed, at)
        SELECT kind, key, $3, clock_timestamp() FROM documents
        WHERE kind = $1 AND key = $2 FOR KEY SHARE
        ON CONFLICT DO NOTHING RETURNING at
        """,
        document.kind,
        document.key,
        observed,
    )
    return at


async def step(tx: Tx, document: Document, step: str, status: str) -> datetime | None:
    """When the step got there, if this is the first time; None if it was told, or is gone."""
    at: datetime | None = await tx.fetchval(
        """
        INSERT INTO steps (kind, key, revision, step, status, at)
        SELECT kind, key, $3, $4, $5, clock_timestamp() FROM documents
        WHERE kind = $1 AND key = $2 FOR KEY SHARE
        ON CONFLICT DO NOTHING RETURNING at
        """,
        document.kind,
        document.key,
        document.revision,
        step,
        status,
    )
    return at


async def last_step(tx: Tx, kind: str, key: str, revision: int) -> tuple[str, str, datetime] | None:
    """The step that was told last, its status, and when."""
    row = await tx.fetchrow(
        """
        SELECT step, status, at FROM steps
        WHERE kind = $1 AND key = $2 AND revision = $3 ORDER BY at DESC LIMIT 1
        """,
        kind,
        key,
        revision,
    )
    return None if row is None else (row["step"], row["status"], row["at"])


def _document(row: Record) -> Document:
    return Document(**dict(row))
