"""Faults to inject, from a file that people write:

    {"faults": [{"task": "vm_release", "fault": "lie", "lie": "omit_step", "times": 2}]}

Each entry happens `times` times (1 unless given), on any node or on the named one, and
then never again, also after a restart; `id` tells two otherwise equal entries apart.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from penstock_agent import fields
from penstock_agent.database import Database
from penstock_agent.fields import FieldInvalid, Fields
from penstock_agent.orders import Kind
from penstock_agent.simulated import world

FAULTS_MAX: Final = 1000
TIMES_MAX: Final = 1_000_000


class Action(StrEnum):
    FAIL = "fail"  # report failure, do nothing
    HANG = "hang"  # never finish
    DIE_AFTER = "die_after"  # have the effect, then SIGKILL this process
    LIE = "lie"  # claim success, do nothing
    FAIL_STEP = "fail_step"  # one cleanup step, or one readiness check, does not pass


class Lie(StrEnum):
    NOTHING = "nothing"  # a perfect report of what was not done
    WRONG_GPUS = "wrong_gpus"  # a runtime with GPUs that were not asked for
    OMIT_STEP = "omit_step"  # proofs without their last step
    WRONG_FENCE = "wrong_fence"  # proofs for the fence before
    WRONG_NONCE = "wrong_nonce"  # proofs for a nonce that nobody gave


PROVISION_LIES: Final = {Lie.NOTHING, Lie.WRONG_GPUS}
RELEASE_LIES: Final = {Lie.NOTHING, Lie.OMIT_STEP, Lie.WRONG_FENCE, Lie.WRONG_NONCE}


class FaultsInvalid(Exception):
    """The file of faults cannot be used. The text names the file and the field."""


@dataclass(frozen=True)
class Fault:
    task: Kind
    fault: Action
    times: int
    node: str  # "" is any
    lie: Lie | None
    step: str
    reason: str
    id: str

    @property
    def key(self) -> str:
        """What its count is kept under."""
        return json.dumps(asdict(self), sort_keys=True)


class Faults:
    """The faults in force, and their counts in the simulated world."""

    def __init__(self, database: Database, listed: tuple[Fault, ...] = ()) -> None:
        self._database = database
        self.listed = listed

    async def take(self, node: str, task: Kind) -> Fault | None:
        """The fault that happens now, counted durably before it does."""
        for fault in self.listed:
            if fault.task is task and fault.node in {"", node} and await self._spend(fault):
                return fault
        return None

    async def _spend(self, fault: Fault) -> bool:
        return await self._database.run(lambda db: world.spend(db, fault.key, fault.times))


def load(path: Path) -> tuple[Fault, ...]:
    try:
        given = fields.load(path)
        listed = tuple(_fault(item) for item in given.objects("faults", 0, FAULTS_MAX))
        given.end()
        if len(set(listed)) != len(listed):
            raise given.invalid("faults", "has the same entry twice; use times, or different ids")
    except FieldInvalid as error:
        raise FaultsInvalid(str(error)) from error
    return listed


def _fault(given: Fields) -> Fault:
    lie = given.text("lie", "")
    fault = Fault(
        task=_one_of(Kind, given, "task", given.text("task")),
        fault=_one_of(Action, given, "fault", given.text("fault")),
        times=given.integer("times", 1, TIMES_MAX, 1),
        node=given.text("node", ""),
        lie=_one_of(Lie, given, "lie", lie) if lie else None,
        step=given.text("step", ""),
        reason=given.text("reason", ""),
        id=given.text("id", ""),
    )
    given.end()
    _check_together(given, fault)
    return fault


def _check_together(given: Fields, fault: Fault) -> None:
    if (fault.fault is Action.LIE) != (fault.lie is not None):
        raise given.invalid("lie", "is for a fault of kind lie, which needs one")
    if (fault.fault is Action.FAIL_STEP) != bool(fault.step):
        raise given.invalid("step", "is for a fault of kind fail_step, which needs one")
    if fault.reason and fault.fault is not Action.FAIL:
        raise given.invalid("reason", "is for a fault of kind fail")
    if fault.fault is Action.FAIL_STEP and not _has_steps(fault.task):
        raise given.invalid("fault", f"cannot be fail_step: {fault.task} has no steps")
    if fault.lie is not None and fault.lie not in _lies(fault.task):
        raise given.invalid("lie", f"cannot be {fault.lie} for {fault.task}")


def _has_steps(task: Kind) -> bool:
    return task.releases or task is Kind.TOPOLOGY_DISCOVER


def _lies(task: Kind) -> set[Lie]:
    if task is Kind.TOPOLOGY_DISCOVER:
        return set()
    return RELEASE_LIES if task.releases else PROVISION_LIES


Choice = TypeVar("Choice", bound=StrEnum)


def _one_of(choices: type[Choice], given: Fields, name: str, value: str) -> Choice:
    try:
        return choices(value)
    except ValueError:
        raise given.invalid(name, f"must be one of {', '.join(choices)}") from None
