"""Children that do not outlive the process that started them."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def tether(last_word: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`: the kernel sends `last_word` to the child when its parent dies.

    The kernel means the parent's thread, so start children from a thread that stays.
    Elsewhere than on Linux there is no such thing, and this does nothing.
    """
    if sys.platform != "linux":
        return _nothing
    # Loaded before the fork: between fork and exec, little is safe.
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def _tie() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(last_word), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # the parent died before we could be tied to it

    return _tie


def _nothing() -> None:
    return
