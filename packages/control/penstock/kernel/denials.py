"""Denied calls in the audit log: each kind once in a while, with how often, whatever the flood.

They are gathered in memory and written together by a transaction of their own, because the
one that was denied leaves nothing. What was gathered in the last moment before a process is
killed is lost.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from penstock.kernel import audit, log
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import LOST, Database, Tx
from penstock.kernel.errors import Forbidden, NotFound, Problem

ACTION: Final = "access.denied"
WINDOW_S: Final = 1.0
KINDS_MAX: Final = 500  # in one window; what is beyond them is counted together
SUBJECTS_MAX: Final = 5
READS: Final = frozenset({"GET", "HEAD"})
logger = log.get(__name__)


@dataclass
class Kind:
    """The same call, denied to the same actor in the same way."""

    actor: Actor
    call: str
    status: int
    reason: str
    correlation_id: str  # of the first
    subjects: list[str] = field(default_factory=list[str])  # the first few, as they were asked for
    count: int = 0


class Denials:
    def __init__(self, database: Database, *, window_s: float = WINDOW_S) -> None:
        self._database = database
        self._window_s = window_s
        self._kinds: dict[tuple[str, str, int], Kind] = {}
        self._beyond = 0
        self._some = asyncio.Event()

    def note(
        self, actor: Actor, method: str, route: str, path: str, refusal: Problem, correlation: str
    ) -> None:
        """Remember a refusal, if it is a denial: what may not be done, or not even be seen."""
        if not is_denial(method, refusal):
            return
        call = f"{method} {route}"
        key = (actor.name, call, refusal.status)
        kind = self._kinds.get(key)
        if kind is None and len(self._kinds) >= KINDS_MAX:
            self._beyond += 1
        else:
            if kind is None:
                kind = Kind(actor, call, refusal.status, refusal.detail, correlation)
                self._kinds[key] = kind
            kind.count += 1
            if len(kind.subjects) < SUBJECTS_MAX and path not in kind.subjects:
                kind.subjects.append(path)
        self._some.set()

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
        kinds, self._kinds = list(self._kinds.values()), {}
        beyond, self._beyond = self._beyond, 0
        self._some.clear()
        if not kinds:
            return

        async def write(tx: Tx) -> None:
            record(tx, kinds, beyond)

        await self._database.run(write, patient=patient)


def is_denial(method: str, refusal: Problem) -> bool:
    """Reading what is not there is no news; trying to change it may be somebody probing."""
    if isinstance(refusal, NotFound):
        return method not in READS
    return isinstance(refusal, Forbidden)


def record(tx: Tx, kinds: Sequence[Kind], beyond: int) -> None:
    for kind in kinds:
        tx.correlation_id = kind.correlation_id
        audit.record(
            tx, kind.actor, ACTION, kind.subjects[0], reason=kind.reason,
            call=kind.call, status=kind.status, count=kind.count, subjects=kind.subjects,
        )  # fmt: skip
    if beyond:
        tx.correlation_id = ""
        why = "more kinds of calls were denied at once than are told apart"
        audit.record(tx, SYSTEM, ACTION, "others", reason=why, count=beyond)
