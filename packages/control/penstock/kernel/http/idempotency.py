"""Idempotency keys: the first answer to a key is the only one.

The key's row is inserted in the transaction of the change. A second request with the
same key waits on that row, then gets the recorded answer; with another body, a refusal.

A refusal is an answer: whoever was told no must not find later that it was done after all,
because the same request was still on its way. Who wants to try again uses a new key. What was not
decided (a fault, a replica that ends, a client that left) is no answer, and leaves the key free.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson
from fastapi import Request, Response

from penstock.kernel.actor import Actor
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Conflict, Invalid, Problem, RefusedBefore
from penstock.kernel.questions import Question

KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
# Refusals that were decided. To who is not known (401), comes too often (429) or meets a fault
# (5xx) nothing was.
DECIDED: Final = frozenset({402, 403, 404, 409, 422})


@dataclass(frozen=True)
class Claim:
    """A key taken by this request, or (with `answer`) one that was answered before."""

    actor: Actor
    key: str
    request: bytes
    answer: Response | None = None


async def fingerprint(request: Request) -> bytes:
    """What must be the same for two requests to be one."""
    body = await request.body()
    target = f"{request.method} {request.scope['path']}\n".encode()
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
        return Claim(actor, key, request)
    row = await tx.fetchrow(
        "SELECT request, status, response FROM idempotency_keys WHERE actor = $1 AND key = $2",
        actor.name,
        key,
    )
    if row is None or bytes(row["request"]) != request:
        raise reused()
    if (row["status"] or 0) >= 400:
        raise refused_before(row["status"], row["response"])
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
    return Claim(actor, key, request, answer)


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
        claim.actor.name,
        claim.key,
        status,
        body,
    )


async def remember_refusal(database: Database, claim: Claim, refusal: Problem) -> None:
    """For the key of a request that was rolled back. Who took the key meanwhile has it."""
    if refusal.status not in DECIDED:
        return
    given = Given(claim.actor, claim.key, claim.request, refusal.status, stored(refusal))
    async with database.transaction(tenant=claim.actor.tenant_id) as tx:
        await tx.execute(recording(1) + " ON CONFLICT DO NOTHING", *recorded([given], tx.now))


def stored(refusal: Problem) -> bytes:
    told = {
        "title": refusal.title,
        "detail": refusal.detail,
        "code": refusal.code,
        "suggestion": refusal.suggestion or "",
        "extras": refusal.extras,
    }
    return orjson.dumps(told, default=str)


def refused_before(status: int, body: bytes) -> RefusedBefore:
    return RefusedBefore(status, **orjson.loads(body))


@dataclass(frozen=True)
class Answer:
    """What was answered to a key, and to which request."""

    request: bytes
    body: bytes
    status: int


def answers(keys: Sequence[tuple[str, str]]) -> Question[dict[tuple[str, str], Answer]]:
    """By actor and key: what was answered before. Each by the index, however many there are."""
    return Question(
        """
        SELECT found.k FROM unnest($1::text[], $2::text[]) AS asked (actor, key), LATERAL (
            SELECT k FROM idempotency_keys k
            WHERE k.actor = asked.actor AND k.key = asked.key LIMIT 1) AS found
        """,
        ([actor for actor, _ in keys], [key for _, key in keys]),
        lambda rows: {
            (row["actor"], row["key"]): Answer(
                row["request"], row["response"] or b"", row["status"] or 0
            )
            for row in rows
        },
    )


@dataclass(frozen=True)
class Given:
    """An answer, and the request that it was given to."""

    actor: Actor
    key: str
    request: bytes
    status: int
    body: bytes


async def record_answers(tx: Tx, given: Sequence[Given]) -> None:
    """A key that somebody took in the meantime is a unique violation."""
    if given:
        await tx.execute(recording(1), *recorded(given, tx.now))


def recording(first: int) -> str:
    """The statement that records what `recorded` gives, parameters `first` and following."""
    kinds = ("text[]", "text[]", "text[]", "bytea[]", "int[]", "bytea[]")
    columns = ", ".join(f"${first + n}::{kind}" for n, kind in enumerate(kinds))
    return f"""
        INSERT INTO idempotency_keys (tenant_id, actor, key, request, status, response, created_at)
        SELECT new.*, ${first + len(kinds)}::timestamptz FROM unnest({columns}) AS new
    """  # noqa: S608 # numbers of parameters


def recorded(given: Sequence[Given], now: datetime) -> tuple[object, ...]:
    return (
        [one.actor.tenant_id for one in given],
        [one.actor.name for one in given],
        [one.key for one in given],
        [one.request for one in given],
        [one.status for one in given],
        [one.body for one in given],
        now,
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
