"""Every kind of task that this agent carries out. A new one is a row here and its module."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from penstock_agent.tasks import discover, holds, leases
from penstock_agent.tasks.doer import Doer
from penstock_contracts.wire_pb2 import Task, TaskResult

Input = TypeVar("Input")


@dataclass(frozen=True)
class Kind(Generic[Input]):
    """How one field of `Task.input` becomes an effect.

    `read` bounds every field, or raises InputRefused. Tasks that share a lane are carried out one
    after the other; one without lanes runs beside all others. One that `ends` its lease closes the
    fences of its slots, and stops what of the same lease is ahead of it.
    """

    name: str  # of the field
    read: Callable[[Task], Input]
    effect: Callable[[Doer, Input], Awaitable[TaskResult]]
    lanes: Callable[[Input], frozenset[str]]
    ends: bool = False


def alone(_: object) -> frozenset[str]:
    return frozenset()


KINDS: Final[dict[str, Kind[Any]]] = {
    kind.name: kind
    for kind in (
        Kind("discover", discover.read, discover.effect, alone),
        Kind("provision", leases.read_provision, leases.provision, leases.lanes),
        Kind("release", leases.read_release, leases.release, leases.lanes, ends=True),
        Kind("holds", holds.read, holds.effect, alone),
    )
}
