"""Ensures that what ran out is gone.

What ran out can do nothing more: a code, a token or an invitation whose time is up, a session that
ended, the answer to a key that nobody sends again. Each kind is kept as long as it still protects
something, or somebody may ask for it; then it goes, in batches that are transactions by themselves.
What refers to sessions goes before them. One process of central does this at a time.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.central.realms.grants import remains
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import invitations
from penstock.kernel import log, loops
from penstock.kernel.db import Database, Tx
from penstock.kernel.http import idempotency
from penstock.kernel.loops import Alone, Idle, Loop, Pauses

LOCK: Final = 0x53574550  # "SWEP"
BATCH: Final = 1_000
Forget = Callable[[Tx, int], Awaitable[int]]  # so many at most; how many they were
logger = log.get(__name__)


@dataclass(frozen=True)
class Sweeper:
    database: Database
    every_s: float
    answers_kept: timedelta  # to idempotency keys

    def loop(self, url: str) -> Loop:
        return Loop(
            "sweeping",
            "Deletes what ran out: codes, tokens, sessions, invitations, answers to old keys.",
            loops.reconcile(self._advance, pauses=Pauses(self.every_s, self.every_s)),
            Alone(url, LOCK),
        )

    async def _advance(self) -> Idle:
        if gone := await self.sweep():
            logger.info("what ran out is gone", **gone)
        return self.every_s

    async def sweep(self) -> dict[str, int]:
        """All that ran out by now: how many of what."""
        counts = {name: await self._all(forget) for name, forget in self._kinds().items()}
        return {name: count for name, count in counts.items() if count}

    def _kinds(self) -> Mapping[str, Forget]:
        """In this order: what refers to something goes before it."""
        return {
            "device_codes": remains.forget_devices,
            "authorization_codes": remains.forget_codes,
            "refresh_tokens": remains.forget_refresh_tokens,
            "revoked_tokens": remains.forget_revoked,
            "sessions": sessions.forget,
            "invitations": invitations.forget,
            "idempotency_keys": self._answers,
        }

    async def _answers(self, tx: Tx, limit: int) -> int:
        return await idempotency.forget(tx, tx.now - self.answers_kept, limit)

    async def _all(self, forget: Forget) -> int:
        total = 0
        while True:
            gone = await self.database.run(lambda tx: forget(tx, BATCH))
            total += gone
            if gone < BATCH:
                return total
