"""All SQL that finds out who somebody is, without them calling."""

from penstock.central.access import grants
from penstock.kernel.actor import NO_ROLE, Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId

WHO = f"""
    SELECT 'user' AS kind, u.id, u.tenant_id, u.role, NULL::text[] AS scopes,
        {grants.sql("u.id")} AS grants
    FROM users u WHERE u.id = $1
    UNION ALL
    SELECT 'service_account', s.id, s.tenant_id, '{NO_ROLE}', NULL, {grants.sql("s.id")}
    FROM service_accounts s WHERE s.id = $1
    UNION ALL
    SELECT 'key', k.id, k.tenant_id, coalesce(u.role, k.role), k.scopes,
        {grants.sql("k.id", "k.user_id", "k.service_account_id")}
    FROM api_keys k LEFT JOIN users u ON u.id = k.user_id WHERE k.id = $1
    UNION ALL
    SELECT 'client', c.id, c.tenant_id, c.role, c.scopes, {grants.sql("c.id")}
    FROM realm_clients c WHERE c.id = $1 AND 'client_credentials' = ANY(c.grants)
"""


async def find(tx: Tx, id: str) -> Actor | None:
    """Someone as they would call now, without a second factor."""
    row = await tx.fetchrow(WHO, id)
    if row is None:
        return None
    return Actor(
        row["kind"],
        row["id"],
        row["role"],
        TenantId(row["tenant_id"]) if row["tenant_id"] else None,
        None if row["scopes"] is None else frozenset(row["scopes"]),
        grants.read(row["grants"]),
        hour=tx.now.hour,
        weekday=tx.now.isoweekday(),
    )
