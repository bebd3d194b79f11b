"""All SQL that touches codes, device codes, refresh tokens, consents and revoked tokens."""

import hashlib
from datetime import datetime

import asyncpg

from penstock.central.realms.grants.model import Code, Device, Refresh
from penstock.kernel.db import Tx
from penstock.kernel.errors import Unavailable
from penstock_contracts.ids import SessionId, TenantId, UserId

DEVICE = (
    "hash, client_id, user_code, scope, agent, expires_at, interval_s, polled_at, decision, "
    "user_id, amr, auth_at, session_id"
)


def hashed(secret: str) -> bytes:
    """All secrets here are random and long, so one fast hash is enough to store them."""
    return hashlib.sha256(secret.encode()).digest()


def _device(row: asyncpg.Record) -> Device:
    fields = dict(row)
    amr: list[str] | None = fields.pop("amr")
    return Device(**fields, amr=tuple(amr or ()))


async def add_code(tx: Tx, tenant_id: TenantId, secret: str, code: Code) -> None:
    await tx.execute(
        """
        INSERT INTO authorization_codes (hash, tenant_id, client_id, user_id, browser_id,
            redirect_uri, scope, nonce, challenge, amr, auth_at, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        """,
        hashed(secret),
        tenant_id,
        code.client_id,
        code.user_id,
        code.browser_id,
        code.redirect_uri,
        code.scope,
        code.nonce,
        code.challenge,
        code.amr,
        code.auth_at,
        tx.now,
        code.expires_at,
    )


async def lock_code(tx: Tx, tenant_id: TenantId, secret: str) -> Code | None:
    row = await tx.fetchrow(
        """
        SELECT client_id, user_id, browser_id, redirect_uri, scope, nonce, challenge, amr, auth_at,
            expires_at, used_at, session_id
        FROM authorization_codes WHERE tenant_id = $1 AND hash = $2 FOR UPDATE
        """,
        tenant_id,
        hashed(secret),
    )
    if row is None:
        return None
    fields = dict(row)
    amr: list[str] = fields.pop("amr")
    return Code(**fields, amr=tuple(amr))


async def spend_code(tx: Tx, secret: str, session_id: SessionId) -> None:
    await tx.execute(
        "UPDATE authorization_codes SET used_at = $2, session_id = $3 WHERE hash = $1",
        hashed(secret),
        tx.now,
        session_id,
    )


async def add_device(tx: Tx, tenant_id: TenantId, device: Device) -> None:
    added = await tx.execute(
        """
        INSERT INTO device_codes (hash, tenant_id, client_id, user_code, scope, agent, created_at,
            expires_at, interval_s)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (tenant_id, user_code) DO NOTHING
        """,
        device.hash,
        tenant_id,
        device.client_id,
        device.user_code,
        device.scope,
        device.agent,
        tx.now,
        device.expires_at,
        device.interval_s,
    )
    if not added:  # one in twenty billion
        raise Unavailable("this code is in use; ask again")


async def lock_device(tx: Tx, tenant_id: TenantId, secret: str) -> Device | None:
    row = await tx.fetchrow(
        f"SELECT {DEVICE} FROM device_codes WHERE tenant_id = $1 AND hash = $2 FOR UPDATE",
        tenant_id,
        hashed(secret),
    )
    return None if row is None else _device(row)


async def lock_device_by_user_code(tx: Tx, tenant_id: TenantId, code: str) -> Device | None:
    row = await tx.fetchrow(
        f"SELECT {DEVICE} FROM device_codes WHERE tenant_id = $1 AND user_code = $2 FOR UPDATE",
        tenant_id,
        code,
    )
    return None if row is None else _device(row)


async def decide_device(
    tx: Tx,
    device: Device,
    decision: str,
    user_id: UserId,
    amr: tuple[str, ...],
    auth_at: datetime,
) -> None:
    await tx.execute(
        """
        UPDATE device_codes SET decision = $2, user_id = $3, amr = $4, auth_at = $5
        WHERE hash = $1
        """,
        device.hash,
        decision,
        user_id,
        amr,
        auth_at,
    )


async def poll_device(tx: Tx, device: Device, interval_s: int) -> None:
    await tx.execute(
        "UPDATE device_codes SET polled_at = $2, interval_s = $3 WHERE hash = $1",
        device.hash,
        tx.now,
        interval_s,
    )


async def redeem_device(tx: Tx, device: Device, session_id: SessionId) -> None:
    await tx.execute(
        "UPDATE device_codes SET session_id = $2 WHERE hash = $1", device.hash, session_id
    )


async def add_refresh(
    tx: Tx, tenant_id: TenantId, secret: str, session_id: SessionId, expires_at: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO refresh_tokens (hash, tenant_id, session_id, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5)
        """,
        hashed(secret),
        tenant_id,
        session_id,
        tx.now,
        expires_at,
    )


async def lock_refresh(tx: Tx, tenant_id: TenantId, secret: str) -> Refresh | None:
    row = await tx.fetchrow(
        """
        SELECT session_id, expires_at, used_at FROM refresh_tokens
        WHERE tenant_id = $1 AND hash = $2 FOR UPDATE
        """,
        tenant_id,
        hashed(secret),
    )
    return None if row is None else Refresh(**dict(row))


async def spend_refresh(tx: Tx, secret: str) -> None:
    await tx.execute(
        "UPDATE refresh_tokens SET used_at = $2 WHERE hash = $1", hashed(secret), tx.now
    )


async def consented(tx: Tx, tenant_id: TenantId, user_id: UserId, client_id: str) -> list[str]:
    scopes: list[str] | None = await tx.fetchval(
        "SELECT scopes FROM consents WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3",
        tenant_id,
        user_id,
        client_id,
    )
    return scopes or []


async def consent(
    tx: Tx, tenant_id: TenantId, user_id: UserId, client_id: str, scopes: list[str]
) -> None:
    await tx.execute(
        """
        INSERT INTO consents (tenant_id, user_id, client_id, scopes, granted_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (tenant_id, user_id, client_id) DO UPDATE
        SET scopes = excluded.scopes, granted_at = excluded.granted_at
        """,
        tenant_id,
        user_id,
        client_id,
        scopes,
        tx.now,
    )


async def let_in(tx: Tx, tenant_id: TenantId, user_id: UserId) -> list[tuple[str, str]]:
    """The clients that someone let in, and that have something of it: by id and name."""
    rows = await tx.fetch(
        """
        SELECT c.id, c.name FROM realm_clients c
        WHERE c.tenant_id = $1 AND c.disabled_at IS NULL AND (
            EXISTS (SELECT FROM consents WHERE tenant_id = $1 AND user_id = $2
                AND client_id = c.id AND scopes <> '{}')
            OR EXISTS (SELECT FROM sessions WHERE tenant_id = $1 AND user_id = $2
                AND client_id = c.id AND ended_at IS NULL AND expires_at > $3)
            OR EXISTS (SELECT FROM api_keys WHERE tenant_id = $1 AND user_id = $2
                AND client_id = c.id AND revoked_at IS NULL AND expires_at > $3))
        ORDER BY c.name, c.id
        """,
        tenant_id,
        user_id,
        tx.now,
    )
    return [(row["id"], row["name"]) for row in rows]


async def revoke(tx: Tx, tenant_id: TenantId, jti: str, expires_at: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO revoked_tokens (tenant_id, jti, expires_at) VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
        """,
        tenant_id,
        jti,
        expires_at,
    )
