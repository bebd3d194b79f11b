"""All SQL that touches the groups and group_members tables."""

import asyncpg

from penstock.central.groups.model import Group, Member, MemberKind
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import GroupId, TenantId

COLUMNS = "id, tenant_id, name, created_at"


def _group(row: asyncpg.Record) -> Group:
    tenant: str | None = row["tenant_id"]
    return Group(
        GroupId(row["id"]), TenantId(tenant) if tenant else None, row["name"], row["created_at"]
    )


async def add(tx: Tx, group: Group) -> None:
    added = await tx.execute(
        f"""
        INSERT INTO groups ({COLUMNS}) VALUES ($1, $2, $3, $4)
        ON CONFLICT (owner, name) DO NOTHING
        """,
        group.id,
        group.tenant_id,
        group.name,
        group.created_at,
    )
    if not added:
        raise Conflict(f"there is a group named {group.name!r} already", code="name_taken")


async def find(tx: Tx, id: str) -> Group | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM groups WHERE id = $1", id)
    return _group(row) if row else None


async def lock(tx: Tx, id: str) -> Group | None:
    """Nobody else changes it, or binds a role to it, until the transaction ends."""
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM groups WHERE id = $1 FOR UPDATE", id)
    return _group(row) if row else None


async def delete(tx: Tx, group: Group) -> None:
    """With its members. What is bound to it keeps it from being deleted."""
    await tx.execute("DELETE FROM group_members WHERE group_id = $1", group.id)
    await tx.execute("DELETE FROM groups WHERE id = $1", group.id)


async def page(tx: Tx, after: str, limit: int) -> list[Group]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM groups WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_group(row) for row in rows]


async def members(tx: Tx, id: GroupId) -> list[Member]:
    rows = await tx.fetch(
        """
        SELECT m.member_id AS id, m.kind, coalesce(u.email, s.name) AS name, m.added_at
        FROM group_members m LEFT JOIN users u ON u.id = m.user_id
        LEFT JOIN service_accounts s ON s.id = m.service_account_id
        WHERE m.group_id = $1 ORDER BY m.member_id
        """,
        id,
    )
    return [Member(**dict(row)) for row in rows]


async def kind_of(tx: Tx, tenant_id: TenantId | None, id: str) -> MemberKind | None:
    """What someone of this tenant (or of the platform) is who can be in a group."""
    kind: MemberKind | None = await tx.fetchval(
        """
        SELECT 'user' FROM users WHERE id = $1 AND tenant_id = $2
        UNION ALL SELECT 'service_account' FROM service_accounts
            WHERE id = $1 AND tenant_id IS NOT DISTINCT FROM $2
        """,
        id,
        tenant_id,
    )
    return kind


async def add_member(tx: Tx, group: Group, id: str, kind: MemberKind) -> bool:
    added = await tx.execute(
        """
        INSERT INTO group_members (group_id, member_id, tenant_id, kind, added_at)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        group.id,
        id,
        group.tenant_id,
        kind,
        tx.now,
    )
    return added > 0


async def remove_member(tx: Tx, group: Group, id: str) -> bool:
    removed = await tx.execute(
        "DELETE FROM group_members WHERE group_id = $1 AND member_id = $2", group.id, id
    )
    return removed > 0
