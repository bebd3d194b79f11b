"""API keys: how scripts prove who they are. Only hashes are stored.

A tenant's key has a role of its own. A personal one belongs to a user: it can do what
that user can at the moment, within its scopes, until it expires; it is good no longer than the
client through which it was made, and not while its realm is suspended.
"""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson
from fastapi import Request, WebSocket

from penstock.central.access import grants
from penstock.kernel import audit
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database, Record, Tx
from penstock.kernel.errors import Unauthenticated
from penstock.kernel.http import gateway
from penstock.kernel.questions import Question
from penstock.kernel.stalls import Stalls
from penstock_contracts.ids import KeyId, ServiceAccountId, TenantId, UserId

TOKEN_LENGTH_MAX: Final = 200
BEARER_LENGTH_MAX: Final = 8_192
REMEMBERED_MAX: Final = 10_000
UNKNOWN: Final = "this key is not known"
HOLDERS: Final = f"""
    SELECT (k.id, k.tenant_id, k.user_id, coalesce(u.role, k.role), k.scopes, k.hash, k.expires_at,
        {grants.sql("k.id", "k.user_id", "k.service_account_id")}::text)::key_holder
    FROM api_keys k LEFT JOIN users u ON u.id = k.user_id AND u.tenant_id = k.tenant_id
    LEFT JOIN realms r ON r.tenant_id = u.tenant_id
    LEFT JOIN realm_clients c ON c.tenant_id = k.tenant_id AND c.id = k.client_id
    LEFT JOIN service_accounts s ON s.id = k.service_account_id
    WHERE k.hash = ANY($1) AND k.revoked_at IS NULL AND u.disabled_at IS NULL
        AND r.suspended_at IS NULL AND c.disabled_at IS NULL AND s.disabled_at IS NULL
"""  # noqa: S608 # names of columns


@dataclass(frozen=True)
class Held:
    """A key, and who held it when it was last asked whose it is."""

    hash: bytes = field(repr=False)
    actor: Actor


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
    tx: Tx,
    actor: Actor,
    *,
    tenant_id: TenantId | None,
    name: str,
    role: str,
    token: str = "",
    user_id: UserId | None = None,
    scopes: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    service_account_id: ServiceAccountId | None = None,
    client_id: str | None = None,
) -> NewKey:
    """Make a key. Its token is shown now and never again."""
    key = NewKey(KeyId.new(), name, role, token or f"pk_{secrets.token_urlsafe(32)}")
    await tx.execute(
        """
        INSERT INTO api_keys (id, tenant_id, name, role, hash, created_at, user_id, scopes,
            expires_at, service_account_id, client_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        """,
        key.id,
        tenant_id,
        name,
        role,
        hash_token(key.token),
        tx.now,
        user_id,
        scopes,
        expires_at,
        service_account_id,
        client_id,
    )
    audit.record(
        tx, actor, "key.create", key.id, tenant_id=tenant_id, name=name, role=role, user=user_id,
        scopes=scopes, expires_at=expires_at, service_account=service_account_id,
        client=client_id,
    )  # fmt: skip
    return key


async def ensure_bootstrap(tx: Tx, token: str) -> None:
    """Ensures that the token is the key of a platform admin."""
    known = await tx.fetchval("SELECT 1 FROM api_keys WHERE hash = $1", hash_token(token))
    if not known:
        await create(
            tx, SYSTEM, tenant_id=None, name="bootstrap", role="platform_admin", token=token
        )


def presented(connection: Request | WebSocket) -> str:
    """What the caller holds, whatever it is."""
    scheme, _, token = gateway.authorization(connection).partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthenticated("send your key or token as `Authorization: Bearer …`")
    if len(token) > BEARER_LENGTH_MAX:
        raise Unauthenticated(UNKNOWN)
    return token


class Holders:
    """Whose keys these are, always by the database: those who ask at once are asked for at once."""

    def __init__(self, database: Database, stalls: Stalls | None = None) -> None:
        self._database = database
        self._stalls = stalls or Stalls()
        self._stall = self._stalls.look()
        self._waiting: dict[bytes, asyncio.Future[Actor | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._remembered: OrderedDict[bytes, Actor] = OrderedDict()

    def recall(self, token: str) -> Held | None:
        """Whose it was. Whoever goes by that asks `holding` before anything is done."""
        if self._stall != self._stalls.look():
            self._stall = self._stalls.look()
            self._remembered.clear()
        hash = hash_token(token)
        actor = self._remembered.get(hash)
        return None if actor is None else Held(hash, actor)

    async def authenticate(self, token: str) -> Actor:
        """Who calls, by the key they hold."""
        known = len(token) <= TOKEN_LENGTH_MAX
        hash = hash_token(token)
        holder = await self._find(hash) if known else None
        self._remember(hash, holder)
        if holder is None:
            raise Unauthenticated(UNKNOWN)
        return holder

    def _remember(self, hash: bytes, holder: Actor | None) -> None:
        if holder is None:
            self._remembered.pop(hash, None)
            return
        self._remembered[hash] = holder
        if len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)

    async def _find(self, hash: bytes) -> Actor | None:
        found = self._waiting.get(hash)
        if found is None:
            found = self._waiting[hash] = asyncio.get_running_loop().create_future()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(found)

    async def _ask(self) -> None:
        """Until nobody waits. Who comes while a question is out waits for the next one."""
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            try:
                holders = await _holders(self._database, list(waiting))
            except Exception as error:
                for future in waiting.values():
                    future.set_exception(error)
                    future.exception()  # somebody may have given up
            else:
                for hash, future in waiting.items():
                    future.set_result(holders.get(hash))
        self._asking = None


async def _holders(database: Database, hashes: list[bytes]) -> dict[bytes, Actor]:
    """By the hash of each key that is good now."""
    (row,) = await database.fetch(f"SELECT now(), ARRAY({HOLDERS}) AS holders", hashes)
    return holders(row["holders"], database.now(row["now"]))


def holding(hashes: Iterable[bytes]) -> Question[list[Record]]:
    """Whose keys these are now, for `holders`."""
    return Question(HOLDERS, (list(hashes),), list)


def holders(rows: Sequence[Record], now: datetime) -> dict[bytes, Actor]:
    """By the hash of each key that is good now."""
    return {
        bytes(row["hash"]): Actor(
            "key",
            row["id"],
            row["role"],
            TenantId(row["tenant_id"]) if row["tenant_id"] else None,
            None if row["scopes"] is None else frozenset(row["scopes"]),
            grants.read(orjson.loads(row["grants"] or "[]")),
            hour=now.hour,
            weekday=now.isoweekday(),
            user_id=row["user_id"] or "",
        )
        for row in rows
        if row["expires_at"] is None or row["expires_at"] > now
    }
