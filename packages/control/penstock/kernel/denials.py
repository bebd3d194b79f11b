"""Denied calls in the audit log: each kind once in a while, with how often, whatever the flood.

They are gathered in memory and written together by a transaction of their own, because the
one that was denied leaves nothing. What was gathered in the last moment before a process is
killed is lost.

A read of what is not found is a denial only if the thing exists. Behind the wall of a tenant
nobody can tell, so it is looked up later, where all is seen: the answer and its time are the
same whether it exists or not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from penstock.kernel import audit, log, loops
from penstock.kernel.actor import NO_ROLE, SYSTEM, Actor
from penstock.kernel.db import LOST, Database, Tx
from penstock.kernel.errors import Forbidden, NotFound, Problem
from penstock.kernel.loops import Loop
from penstock_contracts.ids import TenantId

ACTION: Final = "access.denied"
REFUSED: Final = "credential.refused"
WINDOW_S: Final = 1.0
KINDS_MAX: Final = 500  # in one window; what is beyond them is counted together
UNSURE_MAX: Final = 2_000  # in one window: reads of what may or may not exist
SUBJECTS_MAX: Final = 5
READS: Final = frozenset({"GET", "HEAD"})
logger = log.get(__name__)

Thing = tuple[str, str]  # its noun, and the id or name by which it was asked for
Existing = Callable[[Tx, Collection[Thing]], Awaitable[Collection[Thing]]]


@dataclass
class Kind:
    """The same, denied to the same actor in the same way."""

    actor: Actor
    action: str
    reason: str
    correlation_id: str  # of the first
    detail: dict[str, object]
    subjects: list[str] = field(default_factory=list[str])  # the first few, as they were asked for
    count: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        place = self.detail.get("call", self.subjects[0])
        return self.actor.name, self.actor.tenant_id, self.action, place, self.detail.get("status")


async def _nothing(_tx: Tx, _things: Collection[Thing]) -> Collection[Thing]:
    return ()


class Denials:
    """`existing` says which of some things exist, whoever's they are."""

    def __init__(
        self, database: Database, *, existing: Existing = _nothing, window_s: float = WINDOW_S
    ) -> None:
        self._database = database
        self._existing = existing
        self._window_s = window_s
        self._kinds: dict[tuple[object, ...], Kind] = {}
        self._unsure: list[tuple[Thing, Kind]] = []
        self._beyond = 0
        self._some = asyncio.Event()

    def note(
        self, actor: Actor, method: str, route: str, path: str, refusal: Problem, correlation: str
    ) -> None:
        """Remember a refusal, if it is a denial: what may not be done, or not even be seen."""
        if not isinstance(refusal, Forbidden | NotFound):
            return
        detail: dict[str, object] = {"call": f"{method} {route}", "status": refusal.status}
        kind = Kind(actor, ACTION, refusal.detail, correlation, detail, [path], 1)
        if is_denial(method, refusal):
            self._count(kind)
        elif isinstance(refusal, NotFound):
            self._look_up((refusal.noun, refusal.id), kind)
        self._some.set()

    def note_failure(
        self,
        action: str,
        *,
        address: str,
        subject: str,
        reason: str,
        correlation: str,
        tenant_id: TenantId | None = None,
        **detail: object,
    ) -> None:
        """Remember that somebody unknown, at an address, could not prove who they are."""
        actor = Actor("address", address or "unknown", NO_ROLE, tenant_id)
        self._count(Kind(actor, action, reason, correlation, detail, [subject], 1))
        self._some.set()

    def _count(self, denied: Kind) -> None:
        kind = self._kinds.get(denied.key)
        if kind is not None:
            kind.count += denied.count
            new = [subject for subject in denied.subjects if subject not in kind.subjects]
            kind.subjects += new[: SUBJECTS_MAX - len(kind.subjects)]
        elif len(self._kinds) < KINDS_MAX:
            self._kinds[denied.key] = denied
        else:
            self._beyond += denied.count

    def _look_up(self, thing: Thing, kind: Kind) -> None:
        if len(self._unsure) < UNSURE_MAX:
            self._unsure.append((thing, kind))
        else:
            self._beyond += 1

    def loop(self) -> Loop:
        return Loop("denials", "Writes denied calls to the audit log.", loops.steady(self.run))

    async def run(self) -> None:
        """Ensures that denied calls reach the audit log, soon and together."""
        try:
            while True:
                await self._some.wait()
                await asyncio.sleep(self._window_s)  # so that a flood becomes one entry
                await self._write()
        finally:
            with suppress(TimeoutError, *LOST):
                async with asyncio.timeout(1):
                    await self._write(patient=False)

    async def _write(self, *, patient: bool = True) -> None:
        self._some.clear()
        await self._decide(patient=patient)
        kinds, self._kinds = list(self._kinds.values()), {}
        beyond, self._beyond = self._beyond, 0
        if not kinds and not beyond:
            return

        async def write(tx: Tx) -> None:
            record(tx, kinds, beyond)

        await self._database.run(write, patient=patient)

    async def _decide(self, *, patient: bool) -> None:
        """Which of the reads that found nothing were of something."""
        unsure, self._unsure = self._unsure, []
        if not unsure:
            return
        things = {thing for thing, _ in unsure}
        existing = await self._database.run(lambda tx: self._existing(tx, things), patient=patient)
        for thing, kind in unsure:
            if thing in existing:
                self._count(kind)


def is_denial(method: str, refusal: Problem) -> bool:
    """Reading what is not there is no news; trying to change it may be somebody probing."""
    if isinstance(refusal, NotFound):
        return refusal.hidden or method not in READS
    return isinstance(refusal, Forbidden)


def record(tx: Tx, kinds: Sequence[Kind], beyond: int) -> None:
    for kind in kinds:
        tx.correlation_id = kind.correlation_id
        subjects = {"subjects": kind.subjects} if kind.action == ACTION else {}
        audit.record(
            tx, kind.actor, kind.action, kind.subjects[0], tenant_id=kind.actor.tenant_id,
            reason=kind.reason, **kind.detail, count=kind.count, **subjects,
        )  # fmt: skip
    if beyond:
        tx.correlation_id = ""
        why = "more kinds of calls were denied at once than are told apart"
        audit.record(tx, SYSTEM, ACTION, "others", reason=why, count=beyond)
