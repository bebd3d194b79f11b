"""Those who asked and will not hear the answer: nothing is placed for them.

A client may have left, its time may be over, or this replica stood still for so long that nobody
knows what became of the request: it may have been asked again of another replica, and refused.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from penstock.central.placement.queue import Ask
from penstock.kernel.errors import Unavailable
from penstock.kernel.http import clients
from penstock.kernel.stalls import Stalls

LONG_S: Final = 1.0  # a batch that took so long asks again who is there, before it commits


class Departed(Exception):
    """Of those that were about to be placed, somebody left: decide again, without them."""


def outcomes(asks: Iterable[Ask], stalls: Stalls) -> dict[str, Unavailable]:
    """By ask id: what is answered, though hardly heard. No key remembers it."""
    return {
        ask.id: Unavailable(
            "this was not placed: it waited too long, or its connection was closed",
            suggestion="ask again, with the same Idempotency-Key",
        )
        for ask in departed([*asks], stalls)
    }


def departed(asks: Sequence[Ask], stalls: Stalls) -> list[Ask]:
    waiting = [(ask, ask.patience) for ask in asks if ask.patience is not None]
    clients.ask_who_left(patience.client for _, patience in waiting)
    return [
        ask
        for ask, patience in waiting
        if patience.over(stalls) or (patience.client is not None and patience.client.left)
    ]
