"""One key, one effect, one answer; a failure leaves the key free, a refusal does not."""

import asyncio

import pytest
from fastapi import Response

from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.errors import (
    Conflict,
    RefusedBefore,
    Restarting,
    Unauthenticated,
    Unavailable,
)
from penstock.kernel.http import idempotency
from penstock.kernel.http.idempotency import Claim
from penstock_contracts.ids import TenantId

pytestmark = pytest.mark.anyio

PLATFORM = Actor("key", "key_1", "platform_admin")
MEMBER = Actor("key", "key_2", "member", TenantId("tenant_1"))
REQUEST = b"sha256 of the request"


async def attempt(database: Database, actor: Actor, key: str, request: bytes = REQUEST) -> bytes:
    """Do it, or get the answer of who did it."""
    async with database.transaction(tenant=actor.tenant_id) as tx:
        claim = await idempotency.claim_key(tx, actor, key, request)
        if claim.answer is not None:
            return bytes(claim.answer.body)
        body: bytes = str(await tx.fetchval("SELECT txid_current()")).encode()
        await asyncio.sleep(0)
        await idempotency.record_answer(tx, claim, 201, body)
        return body


@pytest.mark.parametrize("actor", [PLATFORM, MEMBER])
async def test_of_many_racers_one_does_it_and_all_get_its_answer(
    upper: Database, actor: Actor
) -> None:
    answers = await asyncio.gather(*(attempt(upper, actor, "k") for _ in range(20)))
    assert len(set(answers)) == 1
    async with upper.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM idempotency_keys") == 1


async def test_another_request_with_the_key_is_refused(upper: Database) -> None:
    first = await attempt(upper, MEMBER, "k")
    with pytest.raises(Conflict) as refused:
        await attempt(upper, MEMBER, "k", b"another")
    assert refused.value.code == "idempotency_key_reused"
    assert await attempt(upper, MEMBER, "k") == first


async def test_a_key_belongs_to_its_caller(upper: Database) -> None:
    assert await attempt(upper, MEMBER, "k") != await attempt(upper, PLATFORM, "k", b"another")


async def test_a_failed_request_leaves_its_key_free(upper: Database) -> None:

    async def failed() -> None:
        async with upper.transaction(tenant=MEMBER.tenant_id) as tx:
            await idempotency.claim_key(tx, MEMBER, "k", REQUEST)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failed()
    await attempt(upper, MEMBER, "k", b"another")


@pytest.mark.parametrize("actor", [PLATFORM, MEMBER])
async def test_a_refusal_is_the_answer_to_its_key(upper: Database, actor: Actor) -> None:
    taken = Conflict("it is taken", code="taken", suggestion="another", extras={"by": 7})
    claim = Claim(actor, "k", REQUEST)
    await idempotency.remember_refusal(upper, claim, taken)
    with pytest.raises(RefusedBefore) as told:
        await attempt(upper, actor, "k")
    assert told.value.replayed
    assert (told.value.status, told.value.title) == (taken.status, taken.title)
    assert idempotency.stored(told.value) == idempotency.stored(taken)
    with pytest.raises(Conflict) as reused:
        await attempt(upper, actor, "k", b"another")
    assert reused.value.code == "idempotency_key_reused"


async def test_what_was_not_decided_leaves_its_key_free(upper: Database) -> None:
    for undecided in (Unavailable("not now"), Unauthenticated("who?"), Restarting()):
        await idempotency.remember_refusal(upper, Claim(MEMBER, "k", REQUEST), undecided)
    assert await attempt(upper, MEMBER, "k")


async def test_an_answer_outlives_a_refusal_that_comes_too_late(upper: Database) -> None:
    done = await attempt(upper, MEMBER, "k")
    await idempotency.remember_refusal(upper, Claim(MEMBER, "k", REQUEST), Conflict("too late"))
    assert await attempt(upper, MEMBER, "k") == done


async def test_a_racer_takes_over_when_the_first_one_fails(upper: Database) -> None:
    claimed = asyncio.Event()
    fail = asyncio.Event()

    async def fails() -> None:
        async with upper.transaction() as tx:
            await idempotency.claim_key(tx, PLATFORM, "k", REQUEST)
            claimed.set()
            await fail.wait()
            raise ZeroDivisionError

    failing = asyncio.create_task(fails())
    await claimed.wait()
    waiting = asyncio.create_task(attempt(upper, PLATFORM, "k"))
    done, _ = await asyncio.wait({waiting}, timeout=0.2)
    assert not done, "it waits to learn what became of the first"
    fail.set()
    assert await waiting
    with pytest.raises(ZeroDivisionError):
        await failing


async def test_an_answer_with_a_secret_is_neither_stored_nor_repeated(upper: Database) -> None:
    secret = Response(b'{"token": "pk_secret"}', 201)
    async with upper.transaction() as tx:
        claim = await idempotency.claim_key(tx, PLATFORM, "k", REQUEST)
        await idempotency.record(tx, claim, secret, secret=True)
    with pytest.raises(Conflict) as refused:
        await attempt(upper, PLATFORM, "k")
    assert refused.value.code == "answer_shown_once"
    async with upper.transaction() as tx:
        kept = await tx.fetchval("SELECT response FROM idempotency_keys")
    assert kept == b""
