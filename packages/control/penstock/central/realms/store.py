"""All SQL that touches the realms table."""

from penstock.central.access import grants
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId

BY_NAME = """
    SELECT r.tenant_id, r.created_at, r.suspended_at, h.provider, h.issuer
    FROM realms r LEFT JOIN hosted_realms h USING (tenant_id) WHERE r.name = $1
"""


async def add(tx: Tx, tenant_id: TenantId, name: str) -> None:
    await tx.execute(
        "INSERT INTO realms (tenant_id, name, created_at) VALUES ($1, $2, $3)",
        tenant_id,
        name,
        tx.now,
    )


async def name_of(tx: Tx, tenant_id: TenantId) -> str:
    name: str = await tx.fetchval("SELECT name FROM realms WHERE tenant_id = $1", tenant_id)
    return name


async def owner_of(tx: Tx, name: str) -> str | None:
    owner: str | None = await tx.fetchval("SELECT tenant_id FROM realms WHERE name = $1", name)
    return owner


async def suspend(tx: Tx, tenant_id: TenantId, *, suspended: bool) -> bool:
    """Whether that changed anything."""
    changed = await tx.execute(
        """
        UPDATE realms SET suspended_at = $2
        WHERE tenant_id = $1 AND (suspended_at IS NULL) = ($2::timestamptz IS NOT NULL)
        """,
        tenant_id,
        tx.now if suspended else None,
    )
    return changed > 0


async def exists(tx: Tx, tenant_id: TenantId) -> bool:
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM realms WHERE tenant_id = $1)", tenant_id
    )
    return found


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """With its keys, clients and invitations. The database refuses it once it has a user."""
    await tx.execute("DELETE FROM realms WHERE tenant_id = $1", tenant_id)


# All that decides whether a token is believed, in one round trip.
FACTS = f"""
    SELECT r.tenant_id, now() AS now,
        k.kid, k.state, k.public, k.created_at, k.changed_at,
        s.user_id AS session_user, s.client_id AS session_client,
        s.ended_at IS NULL AND s.expires_at > now() AS session_live,
        u.role AS user_role, u.disabled_at IS NULL AS user_enabled,
        c.role AS client_role, c.disabled_at IS NULL AS client_enabled,
        x.jti IS NOT NULL AS revoked, s.amr,
        {grants.sql("coalesce(u.id, c.id)")} AS grants
    FROM realms r
    JOIN realm_keys k ON k.tenant_id = r.tenant_id AND k.kid = $2
    JOIN realm_clients c ON c.tenant_id = r.tenant_id AND c.id = $3
    LEFT JOIN sessions s ON s.tenant_id = r.tenant_id AND s.id = $4
    LEFT JOIN users u ON u.tenant_id = r.tenant_id AND u.id = $5
    LEFT JOIN revoked_tokens x ON x.tenant_id = r.tenant_id AND x.jti = $6
    WHERE r.name = $1 AND r.suspended_at IS NULL
"""
