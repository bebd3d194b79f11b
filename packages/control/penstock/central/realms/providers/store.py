"""All SQL that touches the identity_providers and identities tables."""

import asyncpg

from penstock.central.realms.providers.model import Provider
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import ProviderId, TenantId, UserId

COLUMNS = "id, tenant_id, name, issuer, client_id, client_secret, created_at, disabled_at"


def _provider(row: asyncpg.Record) -> Provider:
    fields = dict(row)
    return Provider(ProviderId(fields.pop("id")), TenantId(fields.pop("tenant_id")), **fields)


async def add(tx: Tx, provider: Provider) -> None:
    added = await tx.execute(
        """
        INSERT INTO identity_providers (id, tenant_id, name, issuer, client_id, client_secret,
            created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, name) DO NOTHING
        """,
        provider.id,
        provider.tenant_id,
        provider.name,
        provider.issuer,
        provider.client_id,
        provider.client_secret,
        provider.created_at,
    )
    if not added:
        raise Conflict(f"there is a provider named {provider.name!r} already", code="name_taken")


async def find(tx: Tx, id: str) -> Provider | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM identity_providers WHERE id = $1", id)
    return None if row is None else _provider(row)


async def page(tx: Tx, after: str, limit: int) -> list[Provider]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM identity_providers WHERE id > $1 ORDER BY id LIMIT $2",
        after,
        limit,
    )
    return [_provider(row) for row in rows]


async def offered(tx: Tx, tenant_id: TenantId) -> list[Provider]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM identity_providers
        WHERE tenant_id = $1 AND disabled_at IS NULL ORDER BY name
        """,
        tenant_id,
    )
    return [_provider(row) for row in rows]


async def disable(tx: Tx, id: ProviderId) -> None:
    await tx.execute("UPDATE identity_providers SET disabled_at = $2 WHERE id = $1", id, tx.now)


async def linked(tx: Tx, provider_id: ProviderId, subject: str) -> str | None:
    id: str | None = await tx.fetchval(
        "SELECT user_id FROM identities WHERE provider_id = $1 AND subject = $2",
        provider_id,
        subject,
    )
    return id


async def link(tx: Tx, provider: Provider, subject: str, user_id: UserId) -> bool:
    """False if another request of theirs did, just now."""
    linked = await tx.execute(
        """
        INSERT INTO identities (provider_id, subject, tenant_id, user_id, linked_at)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        provider.id,
        subject,
        provider.tenant_id,
        user_id,
        tx.now,
    )
    return linked > 0
