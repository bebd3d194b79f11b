"""What an effect may use, and what a reader raises."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock_contracts.drivers.host import Host
from penstock_contracts.identity import PrivateKey


class InputRefused(Exception):
    """The input makes no sense. The text says what of it, and why."""


def now_us() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, kw_only=True)
class Doer:
    """Whoever carries out an effect: a host, and the node's key that signs for it."""

    id: str  # the node's
    key: PrivateKey
    host: Host
    clock_us: Callable[[], int] = now_us
