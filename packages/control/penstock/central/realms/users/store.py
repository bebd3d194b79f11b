"""All SQL that touches the users and invitations tables."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from penstock.central.realms.users.model import User
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock_contracts.ids import InvitationId, TenantId, UserId

COLUMNS = (
    "id, tenant_id, email, name, role, password, totp, totp_step, failures, locked_until, "
    "created_at, disabled_at"
)
INVITATION = "id, tenant_id, email, role, created_at, expires_at, accepted_at, clears_second_factor"


@dataclass(frozen=True)
class Invitation:
    id: InvitationId
    tenant_id: TenantId
    email: str
    role: str
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None
    clears_second_factor: bool = False  # of who accepts it


def _user(row: asyncpg.Record) -> User:
    fields = dict(row)
    return User(UserId(fields.pop("id")), TenantId(fields.pop("tenant_id")), **fields)


async def add(tx: Tx, user: User) -> None:
    added = await tx.execute(
        """
        INSERT INTO users (id, tenant_id, email, name, role, password, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, email) DO NOTHING
        """,
        user.id,
        user.tenant_id,
        user.email,
        user.name,
        user.role,
        user.password,
        user.created_at,
    )
    if not added:
        raise Conflict(f"there is a user {user.email} already", code="name_taken")


async def find(tx: Tx, id: str) -> User | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM users WHERE id = $1", id)
    return None if row is None else _user(row)


async def lock(tx: Tx, id: str) -> User | None:
    row = await tx.fetchrow(f"SELECT {COLUMNS} FROM users WHERE id = $1 FOR UPDATE", id)
    return None if row is None else _user(row)


async def hold(tx: Tx, id: str) -> bool:
    """Nobody locks the user until the transaction ends; others may hold it, too. Whether they are
    there and not disabled."""
    enabled: bool | None = await tx.fetchval(
        "SELECT disabled_at IS NULL FROM users WHERE id = $1 FOR KEY SHARE", id
    )
    return bool(enabled)


async def by_email(tx: Tx, tenant_id: TenantId, email: str) -> User | None:
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM users WHERE tenant_id = $1 AND email = $2", tenant_id, email
    )
    return None if row is None else _user(row)


async def lock_by_email(tx: Tx, tenant_id: TenantId, email: str) -> User | None:
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM users WHERE tenant_id = $1 AND email = $2 FOR UPDATE",
        tenant_id,
        email,
    )
    return None if row is None else _user(row)


async def page(tx: Tx, after: str, limit: int) -> list[User]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM users WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_user(row) for row in rows]


async def save(tx: Tx, user: User) -> None:
    """All that can change of a user whose row is locked."""
    await tx.execute(
        """
        UPDATE users SET name = $2, role = $3, password = $4, totp = $5, totp_step = $6,
            failures = $7, locked_until = $8, disabled_at = $9 WHERE id = $1
        """,
        user.id,
        user.name,
        user.role,
        user.password,
        user.totp,
        user.totp_step,
        user.failures,
        user.locked_until,
        user.disabled_at,
    )


async def add_invitation(tx: Tx, invitation: Invitation, hash: bytes) -> None:
    await tx.execute(
        """
        INSERT INTO invitations (id, tenant_id, email, role, hash, created_at, expires_at,
            clears_second_factor)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        invitation.id,
        invitation.tenant_id,
        invitation.email,
        invitation.role,
        hash,
        invitation.created_at,
        invitation.expires_at,
        invitation.clears_second_factor,
    )


async def lock_invitation(tx: Tx, tenant_id: TenantId, hash: bytes) -> Invitation | None:
    row = await tx.fetchrow(
        f"""
        SELECT {INVITATION} FROM invitations
        WHERE tenant_id = $1 AND hash = $2 FOR UPDATE
        """,
        tenant_id,
        hash,
    )
    return None if row is None else Invitation(**dict(row))


async def lock_invitation_by_email(tx: Tx, tenant_id: TenantId, email: str) -> Invitation | None:
    """The newest that is still open."""
    row = await tx.fetchrow(
        f"""
        SELECT {INVITATION} FROM invitations
        WHERE tenant_id = $1 AND email = $2 AND accepted_at IS NULL AND expires_at > $3
        ORDER BY created_at DESC LIMIT 1 FOR UPDATE
        """,
        tenant_id,
        email,
        tx.now,
    )
    return None if row is None else Invitation(**dict(row))


async def close_invitations(tx: Tx, tenant_id: TenantId, email: str) -> None:
    await tx.execute(
        """
        UPDATE invitations SET accepted_at = $3
        WHERE tenant_id = $1 AND email = $2 AND accepted_at IS NULL
        """,
        tenant_id,
        email,
        tx.now,
    )


async def forget_invitations(tx: Tx, before: datetime, limit: int) -> int:
    """Those that were accepted, or had run out, by then."""
    return await tx.execute(
        """
        DELETE FROM invitations WHERE id IN (
            SELECT id FROM invitations WHERE least(expires_at, accepted_at) < $1
            ORDER BY least(expires_at, accepted_at) LIMIT $2 FOR UPDATE SKIP LOCKED)
        """,
        before,
        limit,
    )
