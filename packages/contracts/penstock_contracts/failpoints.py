"""Named places where a test can make this process die, stop or fail, once.

Each place is declared at import, so that a test can list them all and show that it hit
each one. Nothing is armed unless PENSTOCK_FAILPOINTS names a folder. There, a file named
as the place arms it, at any moment, and says what happens: `kill` or `stop` (the process), `fail`
(what is done there, so that trying again helps), `ruin` (so that it does not), or `die` (what is
done there goes no further, as if the process had been killed: for tests within one process). When
the place is hit, the file becomes NAME.hit: so it happens once, whoever gets there first; or as
often as it says (`fail 3`).
"""

import os
import signal
from pathlib import Path
from typing import Final

FOLDER: Final = "PENSTOCK_FAILPOINTS"
DECLARED: Final[set[str]] = set()


class FailpointHit(Exception):
    """An armed failpoint made this operation fail."""


class FailpointRuined(FailpointHit):
    """It failed, and to try it again is pointless."""


class FailpointDied(BaseException):
    """Nothing is done after this, not even to handle a failure."""


class Failpoint:
    def __init__(self, name: str) -> None:
        DECLARED.add(name)
        self.name = name

    def hit(self) -> None:
        """Do what this place is armed with; usually nothing."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return
        match _disarm(Path(folder) / self.name):
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "fail":
                raise FailpointHit(f"failpoint {self.name} was hit")
            case "ruin":
                raise FailpointRuined(f"failpoint {self.name} was hit")
            case "die":
                raise FailpointDied(f"failpoint {self.name} was hit")
            case _:
                pass


def _disarm(armed: Path) -> str:
    """What the place was armed with, for the one who gets there first; else nothing."""
    taken = armed.with_name(f"{armed.name}.hit")
    try:
        armed.rename(taken)
    except FileNotFoundError:
        return ""
    action, _, times = taken.read_text().strip().partition(" ")
    if times and int(times) > 1:
        armed.write_text(f"{action} {int(times) - 1}")
    return action
