"""Idempotency keys: the first answer to a key is the only one.

The key's row is inserted in the transaction of the change. A second request with the
same key waits on that row, then gets the recorded answer; with another body, a refusal.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fastapi import Request, Response

from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid

KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class Claim:
    """A key taken by this request, or (with `answer`) one that was answered before."""

    actor: str
    key: str
    answer: Response | None = None


async def fingerprint(request: Request) -> bytes:
    """What must be the same for two requests to be one."""
    body = await request.body()
    target = f"{request.method} {request.url.path}\n".encode()
    return hashlib.sha256(target + body).digest()


def key_of(request: Request) -> str | None:
    """The key of a POST, if it has one."""
    key = request.headers.get("idempotency-key")
    if request.method != "POST" or key is None:
        return None
    if not KEY.fullmatch(key):
        raise Invalid("the Idempotency-Key must be 1 to 200 visible ASCII characters")
    return key


async def claim(tx: Tx, actor: Actor, request: Request) -> Claim | None:
    key = key_of(request)
    if key is None:
        return None
    return await claim_key(tx, actor, key, await fingerprint(request))


async def claim_key(tx: Tx, actor: Actor, key: str, request: bytes) -> Claim:
    inserted = await tx.execute(
        """
        INSERT INTO idempotency_keys (tenant_id, actor, key, request, created_at)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """,
        actor.tenant_id,
        actor.name,
        key,
        request,
        tx.now,
    )
    if inserted:
        return Claim(actor.name, key)
    row = await tx.fetchrow(
        "SELECT request, status, response FROM idempotency_keys WHERE actor = $1 AND key = $2",
        actor.name,
        key,
    )
    if row is None or bytes(row["request"]) != request:
        raise reused()
    if not row["response"]:
        raise Conflict(
            "this request was answered, and its answer held a secret that is shown only once",
            code="answer_shown_once",
            suggestion="ask for a new one, with a new key",
        )
    replay = {"Idempotency-Replayed": "true"}
    answer = Response(
        bytes(row["response"]), row["status"], headers=replay, media_type="application/json"
    )
    return Claim(actor.name, key, answer)


def reused() -> Conflict:
    return Conflict(
        "this Idempotency-Key was used for a different request",
        code="idempotency_key_reused",
        suggestion="use a new key for a new request",
    )


async def record(tx: Tx, claim: Claim, response: Response, *, secret: bool = False) -> None:
    body = b"" if secret else bytes(response.body)
    await record_answer(tx, claim, response.status_code, body)


async def record_answer(tx: Tx, claim: Claim, status: int, body: bytes) -> None:
    await tx.execute(
        "UPDATE idempotency_keys SET status = $3, response = $4 WHERE actor = $1 AND key = $2",
        claim.actor,
        claim.key,
        status,
        body,
    )


@dataclass(frozen=True)
class Answer:
    """What was answered to a key, and to which request."""

    request: bytes
    body: bytes


async def answers(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Answer]:
    """By actor and key: what was answered before."""
    if not keys:
        return {}
    rows = await tx.fetch(
        """
        SELECT actor, key, request, coalesce(response, '') AS response FROM idempotency_keys
        JOIN unnest($1::text[], $2::text[]) AS asked (actor, key) USING (actor, key)
        """,
        [actor for actor, _ in keys],
        [key for _, key in keys],
    )
    return {
        (row["actor"], row["key"]): Answer(bytes(row["request"]), bytes(row["response"]))
        for row in rows
    }


async def record_answers(tx: Tx, given: Sequence[tuple[Actor, str, bytes, int, bytes]]) -> None:
    """For each actor and key: the request, and what was answered with which status.

    A key that somebody took in the meantime is a unique violation.
    """
    if given:
        await tx.execute(
            """
            INSERT INTO idempotency_keys
                (tenant_id, actor, key, request, status, response, created_at)
            SELECT new.*, $7 FROM unnest(
                $1::text[], $2::text[], $3::text[], $4::bytea[], $5::int[], $6::bytea[]) AS new
            """,
            [actor.tenant_id for actor, *_ in given],
            [actor.name for actor, *_ in given],
            [key for _, key, *_ in given],
            [request for _, _, request, *_ in given],
            [status for *_, status, _ in given],
            [body for *_, body in given],
            tx.now,
        )


async def release(tx: Tx, claim: Claim) -> None:
    """Give a claimed key back: its request was refused and may be made again."""
    await tx.execute(
        "DELETE FROM idempotency_keys WHERE actor = $1 AND key = $2 AND status IS NULL",
        claim.actor,
        claim.key,
    )


async def forget(tx: Tx, before: datetime, limit: int) -> int:
    """The oldest answers, if they are older than this: their keys are new ones again."""
    return await tx.execute(
        """
        DELETE FROM idempotency_keys WHERE (actor, key) IN (
            SELECT actor, key FROM idempotency_keys WHERE created_at < $1
            ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
        """,
        before,
        limit,
    )
