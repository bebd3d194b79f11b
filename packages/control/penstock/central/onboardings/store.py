"""All SQL that touches the onboardings table."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import asyncpg

from penstock.central.onboardings.model import Onboarding, Status, Step, StepStatus
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock_contracts.ids import OnboardingId, TenantId

COLUMNS = (
    "id, tenant_id, name, file, status, founded, steps, reason, failures, retry_at, created_by, "
    "correlation_id, created_at, finished_at"
)


def _onboarding(row: asyncpg.Record) -> Onboarding:
    return Onboarding(
        id=OnboardingId(row["id"]),
        tenant_id=TenantId(row["tenant_id"]) if row["tenant_id"] else None,
        name=row["name"],
        file=row["file"],
        status=Status(row["status"]),
        founded=row["founded"],
        steps=tuple(_step(step) for step in row["steps"]),
        reason=row["reason"],
        failures=row["failures"],
        retry_at=row["retry_at"],
        created_by=row["created_by"],
        correlation_id=row["correlation_id"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
    )


def _step(kept: Mapping[str, Any]) -> Step:
    at = kept["at"]
    return Step(
        kept["name"],
        StepStatus(kept["status"]),
        kept["detail"],
        kept["changed"],
        datetime.fromisoformat(at) if at else None,
        kept["before"],
        kept["pended"],
    )


async def add(tx: Tx, onboarding: Onboarding) -> bool:
    """False if another of the same name is open."""
    added = await tx.execute(
        f"""
        INSERT INTO onboardings ({COLUMNS})
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        ON CONFLICT (name) WHERE finished_at IS NULL DO NOTHING
        """,
        *_values(onboarding),
    )
    return added > 0


async def save(tx: Tx, onboarding: Onboarding) -> None:
    """Of one whose row is locked."""
    await tx.execute(
        """
        UPDATE onboardings SET tenant_id = $2, status = $3, founded = $4, steps = $5, reason = $6,
            failures = $7, retry_at = $8, finished_at = $9 WHERE id = $1
        """,
        onboarding.id,
        onboarding.tenant_id,
        onboarding.status,
        onboarding.founded,
        [asdict(step) for step in onboarding.steps],
        onboarding.reason,
        onboarding.failures,
        onboarding.retry_at,
        onboarding.finished_at,
    )


def _values(onboarding: Onboarding) -> list[object]:
    return [
        onboarding.id,
        onboarding.tenant_id,
        onboarding.name,
        onboarding.file,
        onboarding.status,
        onboarding.founded,
        [asdict(step) for step in onboarding.steps],
        onboarding.reason,
        onboarding.failures,
        onboarding.retry_at,
        onboarding.created_by,
        onboarding.correlation_id,
        onboarding.created_at,
        onboarding.finished_at,
    ]


async def get(tx: Tx, id: str) -> Onboarding:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM onboardings WHERE id = $1", id)
    if row is None:
        raise NotFound("onboarding", id)
    return _onboarding(row)


async def open_for(tx: Tx, name: str) -> Onboarding | None:
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM onboardings WHERE name = $1 AND finished_at IS NULL", name
    )
    return _onboarding(row) if row else None


async def page(tx: Tx, after: str, limit: int) -> list[Onboarding]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM onboardings WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_onboarding(row) for row in rows]


async def go_on(tx: Tx, tenant_id: TenantId) -> bool:
    """It need not wait any longer. Locks its row."""
    touched = await tx.execute(
        "UPDATE onboardings SET retry_at = NULL WHERE tenant_id = $1 AND finished_at IS NULL",
        tenant_id,
    )
    return touched > 0


async def lock_next(tx: Tx) -> Onboarding | None:
    """The oldest that is open and may be gone on with, held until the transaction ends.

    Waits for whoever holds it: if that one dies, its step is ours.
    """
    row = await tx.fetchrow(
        f"""
        SELECT {COLUMNS} FROM onboardings
        WHERE finished_at IS NULL AND (retry_at IS NULL OR retry_at <= $1)
        ORDER BY id LIMIT 1 FOR UPDATE
        """,
        tx.now,
    )
    return _onboarding(row) if row else None


async def retry_at(tx: Tx) -> datetime | None:
    at: datetime | None = await tx.fetchval(
        "SELECT min(retry_at) FROM onboardings WHERE finished_at IS NULL"
    )
    return at
