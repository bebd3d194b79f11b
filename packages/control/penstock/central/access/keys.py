"""API keys: how people and scripts prove who they are. Only hashes are stored."""

import hashlib
import secrets
from dataclasses import dataclass, field

from fastapi import Request, WebSocket

from penstock.kernel import audit
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Unauthenticated
from penstock_contracts.ids import KeyId, TenantId

TOKEN_LENGTH_MAX = 200


@dataclass(frozen=True)
class NewKey:
    id: KeyId
    name: str
    role: str
    token: str = field(repr=False)


def hash_token(token: str) -> bytes:
    """A token is 256 random bits, so one fast hash is enough to store it."""
    return hashlib.sha256(token.encode()).digest()


async def create(
    tx: Tx, actor: Actor, *, tenant_id: TenantId | None, name: str, role: str, token: str = ""
) -> NewKey:
    """Make a key. Its token is shown now and never again."""
    key = NewKey(KeyId.new(), name, role, token or f"pk_{secrets.token_urlsafe(32)}")
    await tx.execute(
        """
        INSERT INTO api_keys (id, tenant_id, name, role, hash, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        key.id,
        tenant_id,
        name,
        role,
        hash_token(key.token),
        tx.now,
    )
    audit.record(tx, actor, "key.create", key.id, tenant_id=tenant_id, name=name, role=role)
    return key


async def ensure_bootstrap(tx: Tx, token: str) -> None:
    """Ensures that the token is the key of a platform admin."""
    known = await tx.fetchval("SELECT 1 FROM api_keys WHERE hash = $1", hash_token(token))
    if not known:
        await create(
            tx, SYSTEM, tenant_id=None, name="bootstrap", role="platform_admin", token=token
        )


def bearer(connection: Request | WebSocket) -> str:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthenticated("send your key as `Authorization: Bearer …`")
    if len(token) > TOKEN_LENGTH_MAX:
        raise Unauthenticated("this key is not known")
    return token


async def authenticate(database: Database, connection: Request | WebSocket) -> Actor:
    """Who calls, by the key they hold."""
    token = bearer(connection)
    rows = await database.fetch(
        "SELECT id, tenant_id, role FROM api_keys WHERE hash = $1", hash_token(token)
    )
    if not rows:
        raise Unauthenticated("this key is not known")
    row = rows[0]
    tenant = row["tenant_id"]
    return Actor("key", row["id"], row["role"], TenantId(tenant) if tenant else None)
