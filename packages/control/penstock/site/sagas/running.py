"""Runs a saga within a workflow, killed or failed anywhere without harm.

What it asks of the engine follows from recorded outcomes and the version's steps alone: so a
workflow that is resumed, by whichever process, takes the same way.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final, Generic

from penstock.site.documents.model import Standing
from penstock.site.sagas.attempts import FAILED, LEFT, Effort
from penstock.site.sagas.model import FOR_EVER, Effect, S, Saga, Step, StepFailed, Steps
from penstock.site.sagas.watching import Watch
from penstock_contracts.failpoints import FailpointRuined

ENDS: Final = frozenset(Standing) - {Standing.CURRENT}
# An undo that has begun is finished, even if a newer revision is there.
UNDO_ENDS: Final = frozenset({Standing.HANDED_OVER, Standing.GONE})
FINAL: Final = (StepFailed, FailpointRuined)


@dataclass(frozen=True)
class Run(Generic[S]):
    """One workflow's work: a saga in one of its versions, on one subject."""

    saga: Saga[S]
    steps: Steps[S]
    subject: S
    watch: Watch

    async def go(self) -> str:
        """Empty if every step is done, else why not. Only within a workflow."""
        for place, step in enumerate(self.steps):
            effect = partial(self._act, step, "do", step.do)
            effort = Effort(step.name, effect, step.retries, ENDS, FINAL)
            state, why = await effort.settle(self.watch)
            if state == FAILED:
                return await self._unwind(place, why)
            if state == LEFT:
                return why
        return ""

    async def _unwind(self, place: int, reason: str) -> str:
        """Undo, again if it fails: what was begun must be taken back. Then tell."""
        for step in reversed(self.steps[: place + 1]):
            if step.undo is not None:
                effect = partial(self._act, step, "undo", step.undo)
                effort = Effort(f"undo {step.name}", effect, FOR_EVER, UNDO_ENDS)
                state, why = await effort.settle(self.watch)
                if state == LEFT:
                    return why
        telling = Effort("report failure", partial(self._tell, reason), FOR_EVER, UNDO_ENDS)
        await telling.settle(self.watch)
        return reason

    async def _act(self, step: Step[S], verb: str, effect: Effect[S]) -> None:
        self.saga.points[f"{step.name}.{verb}.before"].hit()
        await effect(self.subject)
        self.saga.points[f"{step.name}.{verb}.after"].hit()

    async def _tell(self, reason: str) -> None:
        await self.saga.failed(self.subject, reason)
