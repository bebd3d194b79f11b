"""Tries something within a workflow until it is settled: done, failed for good, or left to others.

The engine (DBOS) records each outcome in the site's own database and, after a crash, goes on at the
first operation that has none: so attempts are counted, and a pause ends when it was to end, however
often the process dies. An outcome is plain values: an exception could not be recorded faithfully.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Final

from dbos import DBOS

from penstock.kernel import log
from penstock.site.documents.model import Standing
from penstock.site.documents.service import Superseded
from penstock.site.sagas.model import Retries, StepTransient
from penstock.site.sagas.watching import Verdict, Watch

logger = log.get(__name__)

DONE: Final = "done"
AGAIN: Final = "again"
FAILED: Final = "failed"
LEFT: Final = "left"  # to a newer revision or version; or nobody wants it any more
Outcome = tuple[str, str, float]  # one of these; why; when to try again, in seconds since 1970


@dataclass(frozen=True)
class Effort:
    name: str
    effect: Callable[[], Coroutine[object, object, None]]
    retries: Retries
    ends: Collection[Standing]  # what cuts it off
    final: tuple[type[Exception], ...] = ()  # what it says cannot be helped

    async def settle(self, watch: Watch) -> tuple[str, str]:
        """DONE, FAILED or LEFT, and why. Only within a workflow."""
        for attempt in count(1):
            state, why, again_at = await DBOS.run_step_async(
                {"name": self.name}, self._attempt, watch, attempt
            )
            if state == AGAIN:
                state, why, _ = await DBOS.run_step_async(
                    {"name": pause(self.name)}, self._pause, watch, again_at
                )
                if state == DONE:
                    continue
            return state, why
        raise AssertionError  # nobody counts that far

    async def _attempt(self, watch: Watch, attempt: int) -> Outcome:
        try:
            return _outcome(await watch.unless(self.effect(), self.ends))
        except Superseded:
            return LEFT, str(Standing.SUPERSEDED), 0.0
        except Exception as error:
            why = str(error) or type(error).__name__
            document = watch.document
            logger.warning(
                "attempt failed", kind=document.kind, key=document.key, step=self.name,
                attempt=attempt, error=why,
            )  # fmt: skip
            if isinstance(error, self.final) or self.retries.exhausted(attempt):
                return FAILED, why, 0.0
            after_s = error.retry_after_s if isinstance(error, StepTransient) else None
            return AGAIN, why, time.time() + self.retries.pause_s(attempt, after_s)

    async def _pause(self, watch: Watch, until: float) -> Outcome:
        left_s = max(until - time.time(), 0.0)
        return _outcome(await watch.unless(asyncio.sleep(left_s), self.ends))


def pause(name: str) -> str:
    """What the pause after an attempt is called."""
    return f"pause before {name}"


def _outcome(verdict: Verdict | None) -> Outcome:
    if verdict is None:
        return DONE, "", 0.0
    return FAILED if verdict.standing is Standing.CANCELLED else LEFT, verdict.words, 0.0
