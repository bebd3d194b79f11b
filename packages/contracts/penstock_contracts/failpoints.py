"""Named places where a test can make this process die or fail, once.

Each place is declared at import, so that a test can list them all and show that it
hit each one. Nothing is armed unless the environment says so:

    PENSTOCK_FAILPOINT="site.realize.provision.before=kill"
    PENSTOCK_FAILPOINT_MARK=/some/file   (written when hit; once it is there, never again)
"""

import os
import signal
from pathlib import Path
from typing import Final

DECLARED: Final[set[str]] = set()


class FailpointHit(Exception):
    """An armed failpoint made this operation fail."""


class Failpoint:
    def __init__(self, name: str) -> None:
        DECLARED.add(name)
        self.name = name

    def hit(self) -> None:
        """Do what the environment arms this point with; usually nothing."""
        armed, _, action = os.environ.get("PENSTOCK_FAILPOINT", "").partition("=")
        if armed != self.name or not _mark():
            return
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        raise FailpointHit(f"failpoint {self.name} was hit")


def _mark() -> bool:
    """True the first time only."""
    mark = os.environ.get("PENSTOCK_FAILPOINT_MARK")
    if mark is None:
        return True
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
