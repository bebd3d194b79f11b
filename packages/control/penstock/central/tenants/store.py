"""All SQL that touches the tenants table."""

from collections.abc import Sequence

import asyncpg

from penstock.central.tenants.model import Status, Tenant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock.kernel.questions import Question
from penstock_contracts.ids import TenantId

COLUMNS = "id, name, created_at, status, status_reason, status_at"


def _tenant(row: asyncpg.Record) -> Tenant:
    return Tenant(
        TenantId(row["id"]),
        row["name"],
        row["created_at"],
        Status(row["status"]),
        row["status_reason"],
        row["status_at"],
    )


async def add(tx: Tx, tenant: Tenant) -> None:
    added = await tx.execute(
        f"""
        INSERT INTO tenants ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (name) DO NOTHING
        """,
        tenant.id,
        tenant.name,
        tenant.created_at,
        tenant.status,
        tenant.status_reason,
        tenant.status_at,
    )
    if not added:
        raise Conflict(f"there is a tenant named {tenant.name!r} already", code="name_taken")


async def get(tx: Tx, reference: str) -> Tenant:
    """By id or by name; what is one's id is nobody's name here."""
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM tenants WHERE id = $1 OR name = $1 ORDER BY id <> $1 LIMIT 1",
        reference,
    )
    if row is None:
        raise NotFound("tenant", reference)
    return _tenant(row)


async def lock(tx: Tx, id: TenantId) -> Tenant | None:
    """Nobody else changes it until the transaction ends."""
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM tenants WHERE id = $1 FOR NO KEY UPDATE", id)
    return _tenant(row) if row else None


async def named(tx: Tx, name: str) -> Tenant | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM tenants WHERE name = $1", name)
    return _tenant(row) if row else None


def statuses(ids: Sequence[TenantId]) -> Question[dict[TenantId, Status]]:
    return Question(
        "SELECT t FROM tenants t WHERE id = ANY($1)",
        (ids,),
        lambda rows: {TenantId(row["id"]): Status(row["status"]) for row in rows},
    )


async def offboarding(tx: Tx) -> list[TenantId]:
    rows = await tx.fetch("SELECT id FROM tenants WHERE status = 'offboarding' ORDER BY id")
    return [TenantId(row["id"]) for row in rows]


async def set_status(tx: Tx, tenant: Tenant) -> None:
    await tx.execute(
        "UPDATE tenants SET status = $2, status_reason = $3, status_at = $4 WHERE id = $1",
        tenant.id,
        tenant.status,
        tenant.status_reason,
        tenant.status_at,
    )


async def forget(tx: Tx, id: TenantId) -> None:
    """One that never came to be. Whoever refers to it keeps it from being forgotten."""
    await tx.execute("DELETE FROM tenants WHERE id = $1 AND status = 'onboarding'", id)


async def page(tx: Tx, after: str, limit: int) -> list[Tenant]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM tenants WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_tenant(row) for row in rows]
