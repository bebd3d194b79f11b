"""Whether the client of a request still waits for its answer.

A client that gives up closes its connection. The kernel knows that at once, this process only when
it has read all that came before: after it stood still, much later. So the kernel is asked. Who
closes only its own half has left, too: the HTTP server answers nobody who did.
"""

import select
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from penstock.kernel.stalls import Stalls

WAIT_S_MAX: Final = 20.0  # for an answer
CLOSED: Final[int] = getattr(select, "POLLRDHUP", 0)  # Linux tells of half a connection, too


class Client:
    """Who is at the other end of a connection."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.left = False

    def leave(self) -> None:
        """It closed the connection. The descriptor may be another one's from now on."""
        self.left = True


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may be answered: by when it came, and while who sent it is there."""

    until_s: float
    stall: int
    client: Client | None = None

    def over(self, stalls: Stalls) -> bool:
        return self.until_s < stalls.now_s() or self.stall != stalls.look()


def begin(stalls: Stalls, client: Client | None) -> Patience:
    """Of a request that came just now."""
    return Patience(stalls.now_s() + WAIT_S_MAX, stalls.look(), client)


def ask_who_left(clients: Iterable[Client | None]) -> None:
    """Have it known of each of these whether it left."""
    here = {one.descriptor: one for one in clients if one is not None and not one.left}
    poll = select.poll()
    for descriptor in here:
        poll.register(descriptor, CLOSED)
    for descriptor, _ in poll.poll(0):
        here[descriptor].leave()
