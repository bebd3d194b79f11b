"""Faults to inject, from a file that people write:

    {"faults": [{"task": "vm_release", "fault": "lie", "lie": "omit_step", "times": 2}],
     "health": [{"check": "gpu.xid", "gpu": 3, "detail": "XID 79"}]}

Each entry of `health` (which may be left out) is a check that does not pass while it is listed, of
a GPU by its index or of the whole host. Each of `faults` happens `times` times (1 unless given), on
any node or on the named one, and then never again, also after a restart; `id` tells two otherwise
equal entries apart. `raises` says which fault of drivers a `fail` is (`conflict` unless given).
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from penstock_agent import fields
from penstock_agent.database import Database
from penstock_agent.fields import FieldInvalid, Fields
from penstock_agent.marks import Mark
from penstock_agent.simulated import world
from penstock_contracts.drivers import fault_names
from penstock_contracts.drivers.faults import Conflict, DriverFault, RateLimited

FAULTS_MAX: Final = 1000
TIMES_MAX: Final = 1_000_000
GPUS_MAX: Final = 63
RETRY_AFTER_S: Final = 0.1  # of a rate limit
DEFAULT: Final = fault_names.name(Conflict)  # final: whoever asked gives up


class Task(StrEnum):
    """What a fault happens to: a call of the host, for one shape of lease."""

    TOPOLOGY_DISCOVER = "topology_discover"
    VM_PROVISION = "vm_provision"
    VM_RELEASE = "vm_release"
    BAREMETAL_ASSIGN = "baremetal_assign"
    BAREMETAL_RELEASE = "baremetal_release"

    @property
    def releases(self) -> bool:
        return self in {Task.VM_RELEASE, Task.BAREMETAL_RELEASE}

    @property
    def provisions(self) -> bool:
        return self in {Task.VM_PROVISION, Task.BAREMETAL_ASSIGN}


class Action(StrEnum):
    FAIL = "fail"  # report failure, do nothing
    HANG = "hang"  # never finish
    DIE_AFTER = "die_after"  # have the effect, then SIGKILL this process
    LIE = "lie"  # claim success, do nothing
    END_RUNTIME = "end_runtime"  # have the effect; then the runtime ends by itself
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
    task: Task
    fault: Action
    times: int
    node: str  # "" is any
    lie: Lie | None
    step: str
    reason: str
    id: str
    raises: str = DEFAULT  # which of the faults of drivers

    def error(self) -> DriverFault:
        """What the host raises when it fails."""
        said = self.reason or f"injected fault: {self.task} failed"
        raised = fault_names.BY_NAME[self.raises]
        return RateLimited(said, RETRY_AFTER_S) if raised is RateLimited else raised(said)

    @property
    def key(self) -> str:
        """What its count is kept under."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Ailment:
    """A check that does not pass."""

    check: str
    gpu: int  # its index; -1 is the whole host
    node: str  # "" is any
    detail: str


@dataclass(frozen=True)
class Listed:
    """All that a file lists."""

    faults: tuple[Fault, ...] = ()
    health: tuple[Ailment, ...] = ()


class Faults:
    """The faults in force, and their counts in the simulated world."""

    def __init__(self, database: Database, listed: Listed | None = None) -> None:
        self._database = database
        self._listed = listed or Listed()
        self.stirred = Mark(0)  # grows whenever other ailments may be in force

    @property
    def listed(self) -> Listed:
        return self._listed

    @listed.setter
    def listed(self, listed: Listed) -> None:
        self._listed = listed
        self.stir()

    def stir(self) -> None:
        self.stirred.reach(self.stirred.value + 1)

    def ailments(self, node: str) -> list[Ailment]:
        return [ailment for ailment in self._listed.health if ailment.node in {"", node}]

    async def take(self, node: str, task: Task) -> Fault | None:
        """The fault that happens now, counted durably before it does."""
        for fault in self._listed.faults:
            if fault.task is task and fault.node in {"", node} and await self._spend(fault):
                return fault
        return None

    async def _spend(self, fault: Fault) -> bool:
        return await self._database.run(lambda db: world.spend(db, fault.key, fault.times))


def load(path: Path) -> Listed:
    try:
        given = fields.load(path)
        listed = tuple(_fault(item) for item in given.objects("faults", 0, FAULTS_MAX))
        health = given.objects("health", 0, FAULTS_MAX) if given.has("health") else []
        ailments = tuple(_ailment(item) for item in health)
        given.end()
        if len(set(listed)) != len(listed):
            raise given.invalid("faults", "has the same entry twice; use times, or different ids")
    except FieldInvalid as error:
        raise FaultsInvalid(str(error)) from error
    return Listed(listed, ailments)


def _ailment(given: Fields) -> Ailment:
    ailment = Ailment(
        check=given.text("check"),
        gpu=given.integer("gpu", -1, GPUS_MAX, -1),
        node=given.text("node", ""),
        detail=given.text("detail", ""),
    )
    given.end()
    return ailment


def _fault(given: Fields) -> Fault:
    lie = given.text("lie", "")
    fault = Fault(
        task=_one_of(Task, given, "task", given.text("task")),
        fault=_one_of(Action, given, "fault", given.text("fault")),
        times=given.integer("times", 1, TIMES_MAX, 1),
        node=given.text("node", ""),
        lie=_one_of(Lie, given, "lie", lie) if lie else None,
        step=given.text("step", ""),
        reason=given.text("reason", ""),
        id=given.text("id", ""),
        raises=given.text("raises", DEFAULT),
    )
    given.end()
    _check_together(given, fault)
    return fault


def _check_together(given: Fields, fault: Fault) -> None:
    if (fault.fault is Action.LIE) != (fault.lie is not None):
        raise given.invalid("lie", "is for a fault of kind lie, which needs one")
    if (fault.fault is Action.FAIL_STEP) != bool(fault.step):
        raise given.invalid("step", "is for a fault of kind fail_step, which needs one")
    if fault.raises != DEFAULT and fault.fault is not Action.FAIL:
        raise given.invalid("raises", "is for a fault of kind fail")
    if fault.raises not in fault_names.BY_NAME:
        raise given.invalid("raises", f"must be one of {', '.join(fault_names.BY_NAME)}")
    if fault.reason and fault.fault is not Action.FAIL:
        raise given.invalid("reason", "is for a fault of kind fail")
    if fault.fault is Action.FAIL_STEP and not _has_steps(fault.task):
        raise given.invalid("fault", f"cannot be fail_step: {fault.task} has no steps")
    if fault.fault is Action.END_RUNTIME and not fault.task.provisions:
        raise given.invalid("fault", f"cannot be end_runtime: {fault.task} starts no runtime")
    if fault.lie is not None and fault.lie not in _lies(fault.task):
        raise given.invalid("lie", f"cannot be {fault.lie} for {fault.task}")


def _has_steps(task: Task) -> bool:
    return task.releases or task is Task.TOPOLOGY_DISCOVER


def _lies(task: Task) -> set[Lie]:
    if task is Task.TOPOLOGY_DISCOVER:
        return set()
    return RELEASE_LIES if task.releases else PROVISION_LIES


Choice = TypeVar("Choice", bound=StrEnum)


def _one_of(choices: type[Choice], given: Fields, name: str, value: str) -> Choice:
    try:
        return choices(value)
    except ValueError:
        raise given.invalid(name, f"must be one of {', '.join(choices)}") from None
