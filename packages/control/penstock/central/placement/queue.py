"""The placement queue: requests wait in their process, one task places all that wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from prometheus_client import Histogram

from penstock.central.allocations.gangs import Lease
from penstock.central.allocations.model import Allocation
from penstock.central.allocations.wait import PRIORITY_DEFAULT
from penstock.central.policies.model import Terms
from penstock.kernel import log, loops, shortages
from penstock.kernel.actor import Actor
from penstock.kernel.errors import Problem, Restarting, Unavailable
from penstock.kernel.http.clients import WAIT_S_MAX, Patience
from penstock.kernel.loops import Loop
from penstock_contracts.ids import AllocationId

logger = log.get(__name__)

WAITING_MAX: Final = 2048
BATCH_MAX: Final = 1024
COMING_S_MAX: Final = 0.002
QUIET_TURNS: Final = 3  # what a request takes from its socket to here
QUEUE_FOR_S_DEFAULT: Final = 7 * 86_400
BATCH: Final = Histogram(
    "penstock_placement_batch_asks",
    "Requests placed together",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
)
SECONDS: Final = Histogram("penstock_placement_seconds", "Time to decide and commit a batch")


@dataclass(frozen=True)
class Ask:
    """A request for GPUs. Its id is made here, so that a repeated commit is recognized."""

    actor: Actor
    project: str
    sku: str
    gpus: int | None
    site: str | None
    correlation_id: str
    key: str | None = None
    fingerprint: bytes = b""
    terms: Terms = field(default_factory=Terms)
    queue: bool = False  # wait for room, if there is none now
    queue_for_s: int = QUEUE_FOR_S_DEFAULT
    priority: int = PRIORITY_DEFAULT
    ends_at: datetime | None = None  # it is released then, or waits no longer
    reason: str = ""  # for the audit log
    credential: bytes = field(default=b"", repr=False)  # hash of a key: asked again if it holds
    nodes: int = 1  # whole ones, all or none
    id: AllocationId = field(default_factory=AllocationId.new)
    patience: Patience | None = field(default=None, compare=False)  # None: it waits for ever


@dataclass(frozen=True)
class Placed:
    allocation: Allocation
    now: datetime
    replayed: bool = False
    members: tuple[Allocation, ...] = ()  # of a gang

    @property
    def lease(self) -> Lease:
        return Lease(self.allocation, self.members)


@dataclass(frozen=True)
class Queued:
    """It waits; `allocation` says for what."""

    allocation: Allocation
    now: datetime
    replayed: bool = False

    @property
    def lease(self) -> Lease:
        return Lease(self.allocation)


Outcome = Placed | Queued | Problem
Waiting = tuple[Ask, asyncio.Future[Outcome]]
Commit = Callable[[Sequence[Ask]], Awaitable[Sequence[Outcome]]]
Follow = Callable[[], Awaitable[None]]


class Queue:
    """`commit` decides what it is given together with all that wait for room; given nothing,
    only those. `follow` learns what changed, when there is nothing to decide."""

    def __init__(self, commit: Commit, follow: Follow | None = None) -> None:
        self._commit = commit
        self._follow = follow
        self._behind = False
        self._ending = False
        self._deciding = asyncio.Lock()
        self._rounds: list[asyncio.Future[None]] = []
        self._waiting: asyncio.Queue[Waiting | None] = asyncio.Queue(WAITING_MAX)

    async def submit(self, ask: Ask) -> Placed | Queued:
        """Wait for the batch that decides this request; raise its refusal."""
        if self._ending:
            raise Restarting
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()
        try:
            self._waiting.put_nowait((ask, answer))
        except asyncio.QueueFull:
            raise Unavailable("too many requests wait to be placed; try again shortly") from None
        patience = loop.call_later(WAIT_S_MAX, _give_up, answer)
        try:
            outcome = await answer
        finally:
            patience.cancel()
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    async def decide(self) -> None:
        """Have a round for those that wait for room, between two batches; raise its failure."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rounds.append(told)
        if self._waiting.empty():
            self._waiting.put_nowait(None)
        await told

    def follow(self) -> None:
        """Something changed: learn it before somebody asks."""
        self._behind = True
        if self._waiting.empty():
            self._waiting.put_nowait(None)

    def loop(self) -> Loop:
        return Loop("placement", "Places what is asked for, in batches.", loops.steady(self.run))

    async def run(self) -> None:
        """Ensures that what waits is placed: all of it, together, as soon as possible."""
        while True:
            first = await self._waiting.get()
            async with self._deciding:
                await self._decide(first)

    async def finish(self) -> None:
        """Finish the batch that is under way. Who waits is told to ask again; nothing is decided
        any more."""
        self._ending = True
        while not self._waiting.empty():
            waiting = self._waiting.get_nowait()
            if waiting is not None and not waiting[1].done():
                waiting[1].set_result(Restarting())
        await self._deciding.acquire()

    async def _decide(self, first: Waiting | None) -> None:
        batch = [first]
        await self._company()
        while len(batch) < BATCH_MAX and not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        # Who gave up in the meantime is not placed.
        asked = [each for each in batch if each is not None and not each[1].done()]
        if asked:
            await self._place(asked)
        if self._rounds:
            await self._round()
        if self._behind and self._waiting.empty():
            await self._catch_up()

    async def _company(self) -> None:
        """A batch of one costs almost as much as one of many: who is at the door comes along. The
        loop is let turn until it brings nobody any more."""
        until = time.monotonic() + COMING_S_MAX
        here, quiet = self._waiting.qsize(), 0
        while quiet < QUIET_TURNS and time.monotonic() < until:
            await asyncio.sleep(0)
            before, here = here, self._waiting.qsize()
            quiet = quiet + 1 if here == before else 0

    async def _round(self) -> None:
        rounds, self._rounds = self._rounds, []
        failure: Exception | None = None
        try:
            await self._commit([])
        except Exception as error:
            failure = error
        for told in rounds:
            if told.done():
                continue
            if failure is None:
                told.set_result(None)
            else:
                told.set_exception(failure)

    async def _catch_up(self) -> None:
        self._behind = False
        if self._follow is not None:
            try:
                await self._follow()
            except Exception as error:  # the next batch learns it
                logger.warning("the fleet was not followed", exc_info=error)

    async def _place(self, batch: list[Waiting]) -> None:
        BATCH.observe(len(batch))
        try:
            with SECONDS.time():
                outcomes = await self._commit([ask for ask, _ in batch])
        except Exception as error:
            outcomes = [_failure(error)] * len(batch)
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if not answer.done():
                answer.set_result(outcome)


def _failure(error: Exception) -> Unavailable:
    if refusal := shortages.refusal(error):
        logger.warning("placement batch failed", code=refusal.code, error=str(error))
        return refusal
    logger.error("placement batch failed", exc_info=error)
    return Unavailable("placement failed; what you asked for may not have happened")


def _give_up(answer: "asyncio.Future[Outcome]") -> None:
    if not answer.done():
        answer.set_result(
            Unavailable(
                "placement takes too long; what you asked for may still happen: "
                "ask again with the same Idempotency-Key"
            )
        )
