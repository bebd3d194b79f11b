"""The fleet as it would be if leases ended: supposed inside a block, undone at its end."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace

from penstock.placement.fleet import Fleet
from penstock.placement.line.waiting import Lease
from penstock.placement.plans import Plan


class Supposition:
    """Every change has its inverse; they are undone in the opposite order."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._done: list[Lease | Plan] = []

    def end(self, lease: Lease) -> None:
        """Suppose that it ended. What the fleet does not know it to hold stays as it is."""
        held = tuple(part for part in lease.parts if self._fleet.holds(part))
        for part in held:
            self._fleet.free(part)
        self._done.append(replace(lease, parts=held))

    def took(self, plan: Plan) -> None:
        """The plan was taken inside the block, and is part of what is supposed."""
        self._done.append(plan)

    def undo(self) -> None:
        while self._done:
            done = self._done.pop()
            for part in done.parts:
                if isinstance(done, Plan):
                    self._fleet.free(part)
                else:
                    self._fleet.hold(part)


@contextmanager
def suppose(fleet: Fleet, ended: Iterable[Lease] = ()) -> Generator[Supposition]:
    supposed = Supposition(fleet)
    try:
        for lease in ended:
            supposed.end(lease)
        yield supposed
    finally:
        supposed.undo()
