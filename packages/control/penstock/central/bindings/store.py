"""All SQL that writes and lists role bindings. (`access.grants` reads them at every call.)"""

from typing import Any

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.bindings.model import Binding, Subject
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import BindingId, OrganizationId, TenantId

COLUMNS = """
    b.id, b.tenant_id, b.subject, b.subject_id, b.role, b.scope, b.scope_id, b.conditions,
    b.created_by, b.created_at, coalesce(b.organization_id, p.organization_id) AS organization_id
"""
SELECT = f"""
    SELECT {COLUMNS} FROM role_bindings b LEFT JOIN projects p ON p.id = b.project_id
"""
# Keys of a user or of a service account can do what those can, and so can clients that only act for
# users: nothing is bound to them. A group is not deleted while something is being bound to it.
SUBJECT = """
    SELECT 'user' AS kind, id, tenant_id FROM users WHERE id = $1
    UNION ALL SELECT 'group', id, tenant_id
        FROM (SELECT id, tenant_id FROM groups WHERE id = $1 FOR KEY SHARE) found
    UNION ALL SELECT 'service_account', id, tenant_id FROM service_accounts WHERE id = $1
    UNION ALL SELECT 'key', id, tenant_id FROM api_keys
        WHERE id = $1 AND user_id IS NULL AND service_account_id IS NULL
    UNION ALL SELECT 'client', id, tenant_id FROM realm_clients
        WHERE id = $1 AND 'client_credentials' = ANY(grants)
"""


def _binding(row: asyncpg.Record) -> Binding:
    values: dict[str, Any] = dict(row)  # its columns are the fields of Binding
    values["id"] = BindingId(values["id"])
    tenant: str | None = values["tenant_id"]
    values["tenant_id"] = TenantId(tenant) if tenant else None
    organization: str | None = values["organization_id"]
    values["organization_id"] = OrganizationId(organization) if organization else None
    return Binding(**values)


async def subject(tx: Tx, id: str) -> Subject | None:
    row = await tx.fetchrow(SUBJECT, id)
    if row is None:
        return None
    return Subject(row["kind"], row["id"], TenantId(row["tenant_id"]) if row["tenant_id"] else None)


async def add(tx: Tx, binding: Binding) -> None:
    added = await tx.execute(
        """
        INSERT INTO role_bindings (id, tenant_id, subject, subject_id, role, scope, scope_id,
            conditions, created_by, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (subject_id, role, scope_id) DO NOTHING
        """,
        binding.id,
        binding.tenant_id,
        binding.subject,
        binding.subject_id,
        binding.role,
        binding.scope,
        binding.scope_id,
        binding.conditions,
        binding.created_by,
        binding.created_at,
    )
    if not added:
        raise Conflict(
            f"{binding.subject_id} is {binding.role} at {binding.scope} {binding.scope_id} already",
            code="already_bound",
            suggestion="to change its conditions, unbind it first",
        )


async def find(tx: Tx, id: str) -> Binding | None:
    row = await tx.fetchrow(f"{SELECT} WHERE b.id = $1", id)
    return _binding(row) if row else None


async def remove(tx: Tx, id: BindingId) -> bool:
    """False if somebody else did."""
    return await tx.execute("DELETE FROM role_bindings WHERE id = $1", id) > 0


async def remove_of(tx: Tx, subject_id: str) -> list[Binding]:
    """All that is bound to someone."""
    rows = await tx.fetch(
        f"""
        WITH b AS (DELETE FROM role_bindings WHERE subject_id = $1 RETURNING *)
        SELECT {COLUMNS} FROM b LEFT JOIN projects p ON p.id = b.project_id ORDER BY b.id
        """,
        subject_id,
    )
    return [_binding(row) for row in rows]


async def page(
    tx: Tx, reach: Reach, *, subject: str | None, scope: str | None, after: str, limit: int
) -> list[Binding]:
    rows = await tx.fetch(
        f"""
        {SELECT} WHERE b.id > $1 AND ($3::text IS NULL OR b.subject_id = $3)
            AND ($4::text IS NULL OR b.scope_id = $4)
            AND ($5 OR b.project_id = ANY($6) OR b.organization_id = ANY($7)
                OR p.organization_id = ANY($7))
        ORDER BY b.id LIMIT $2
        """,
        after,
        limit,
        subject,
        scope,
        reach.whole,
        reach.projects,
        reach.organizations,
    )
    return [_binding(row) for row in rows]
