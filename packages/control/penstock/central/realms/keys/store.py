"""All SQL that touches the realm_keys table."""

from typing import NamedTuple

import asyncpg

from penstock.central.realms.keys.model import Key, State
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


class Sealed(NamedTuple):
    tenant_id: TenantId
    kid: str
    sealed: bytes


COLUMNS = "kid, state, public, created_at, changed_at"


def key(row: asyncpg.Record) -> Key:
    return Key(row["kid"], State(row["state"]), row["public"], row["created_at"], row["changed_at"])


async def lock(tx: Tx, tenant_id: TenantId) -> None:
    """Keys are changed one transaction at a time, while nobody signs."""
    await tx.fetchval("SELECT pg_advisory_xact_lock(hashtextextended($1, 10))", tenant_id)


async def lock_shared(tx: Tx, tenant_id: TenantId) -> None:
    """Any number may sign at once, while no key is changed."""
    await tx.fetchval("SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 10))", tenant_id)


async def state(tx: Tx, kid: str) -> State | None:
    found: str | None = await tx.fetchval("SELECT state FROM realm_keys WHERE kid = $1", kid)
    return None if found is None else State(found)


async def add(
    tx: Tx, tenant_id: TenantId, kid: str, state: State, public: dict[str, str], sealed: bytes
) -> None:
    await tx.execute(
        """
        INSERT INTO realm_keys (kid, tenant_id, state, public, sealed, created_at, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $6)
        """,
        kid,
        tenant_id,
        state,
        public,
        sealed,
        tx.now,
    )


async def turn(tx: Tx, kid: str, state: State) -> None:
    await tx.execute(
        "UPDATE realm_keys SET state = $2, changed_at = $3 WHERE kid = $1", kid, state, tx.now
    )


async def all_of(tx: Tx, tenant_id: TenantId) -> list[Key]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM realm_keys WHERE tenant_id = $1 ORDER BY created_at, kid", tenant_id
    )
    return [key(row) for row in rows]


async def any_sealed(tx: Tx) -> Sealed | None:
    """Some private key as it is stored; None if there is none."""
    row = await tx.fetchrow("SELECT tenant_id, kid, sealed FROM realm_keys LIMIT 1")
    return None if row is None else Sealed(TenantId(row["tenant_id"]), row["kid"], row["sealed"])


async def sealed(tx: Tx, kid: str) -> bytes:
    """Only the system may read it."""
    value: bytes = await tx.fetchval("SELECT sealed FROM realm_keys WHERE kid = $1", kid)
    return value
