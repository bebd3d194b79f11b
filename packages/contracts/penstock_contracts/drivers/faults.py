"""Why a driver did not do what it was asked: one closed set for every kind of driver.

A driver raises these and nothing else. Each says what its caller does then; `retry_after` is the
only place that decides which of them are tried again.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final


class DriverFault(Exception):
    """The message is for an operator: what is true, without any secret."""


class NoCapacity(DriverFault):
    """There is no room for it here now. The caller looks elsewhere, or asks again later."""


class Gone(DriverFault):
    """It is not there any more. The caller stops asking; whoever removes it is done."""


class RateLimited(DriverFault):
    """The vendor wants fewer calls. The caller asks again after `retry_after_s`, not before."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s: Final = max(retry_after_s, 0.0)


class CredentialsRejected(DriverFault):
    """The vendor does not let us. The caller tells an operator, and asks again now and then."""


class Conflict(DriverFault):
    """Something else is in the way, and stays so. The caller gives up and says why."""


class Transient(DriverFault):
    """It may or may not have happened. The caller asks again: every verb can be repeated."""


class Unsupported(DriverFault):
    """This driver or this vendor cannot do it at all. The caller gives up, and asks another."""


class DriverBug(DriverFault):
    """No driver raises this: `only_faults` does, if a driver raised what it must not.

    The caller treats it as Transient and reports the driver: its authors must change it.
    """


CLOSED_SET: Final = (
    NoCapacity, Gone, RateLimited, CredentialsRejected, Conflict, Transient, Unsupported,
)  # fmt: skip


FINAL: Final = (Gone, Conflict, Unsupported)


def retry_after(fault: DriverFault) -> float | None:
    """The least pause before the same call is right again. None: it is final, do not repeat it.

    Callers back off besides, up to a bound of theirs, and take the longer of both pauses.
    """
    if isinstance(fault, FINAL):
        return None
    return fault.retry_after_s if isinstance(fault, RateLimited) else 0.0


@contextmanager
def only_faults(driver: str) -> Generator[None]:
    """Turns whatever a driver raises outside the set into a DriverBug that names the driver.

    The text of a stranger's exception may hold a secret, so only its type is told; the
    exception itself is the cause.
    """
    try:
        yield
    except CLOSED_SET:
        raise
    except Exception as error:
        raise DriverBug(
            f"driver {driver} has a bug: it raised {type(error).__name__}, which is none of the "
            "faults of drivers; its authors must change it"
        ) from error
