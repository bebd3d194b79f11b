"""Room for so many at once, shared fairly by those who want it.

Each may hold up to `FLOOD` times what is free right now (dynamic thresholds, Choudhury and
Hahne). Somebody alone gets FLOOD/(FLOOD+1) of the room; of several who want too much, each gets
the same; and some room always stays free, so who asks for little is let in while those who ask
for the most are turned away. Two numbers are compared: nothing is queued or searched.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from penstock.kernel.errors import Unavailable

FLOOD: Final = 4


class Shares:
    def __init__(self, room: int, what: str) -> None:
        self._room = room
        self._what = what
        self._held: dict[str, int] = {}  # only those who hold something
        self.total = 0

    @contextmanager
    def hold(self, who: str) -> Generator[None]:
        """A place, given back at the end; Unavailable if this one's share is used up."""
        held = self._held.get(who, 0)
        if held >= FLOOD * (self._room - self.total):
            raise Unavailable(
                f"this replica serves as many {self._what} as it can, and you hold {held} of them; "
                "nothing was done",
                code="overloaded",
                suggestion="ask again after the time in Retry-After",
            )
        self._held[who] = held + 1
        self.total += 1
        try:
            yield
        finally:
            self.total -= 1
            left = self._held[who] - 1
            if left:
                self._held[who] = left
            else:
                del self._held[who]
