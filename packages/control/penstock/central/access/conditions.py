"""Conditions of roles compared, and said in words. Pure."""

from collections.abc import Mapping
from typing import Final

from penstock.kernel.actor import Conditions

HOURS: Final = 24
DAYS: Final = frozenset(str(day) for day in range(1, 8))
# How the command line gives each kind.
OPTIONS: Final[Mapping[str, str]] = {
    "families": "--family",
    "residency": "--residency",
    "hours": "--hours",
    "weekdays": "--weekday",
    "second_factor": "--second-factor",
}


def within(inner: Conditions, outer: Conditions) -> bool:
    """Whether `inner` lets nothing happen that `outer` does not.

    Each kind is a set of what is let happen, and all must hold: so one is within another if it is
    in every kind. A kind that is not said lets everything happen.
    """
    narrow = dict(inner)
    for kind, values in outer:
        most = _allowed(kind, values)
        if most is None:
            continue
        some = _allowed(kind, narrow[kind]) if kind in narrow else None
        if some is None or not some <= most:
            return False
    return True


def _allowed(kind: str, values: tuple[str, ...]) -> frozenset[str] | None:
    """All that one kind lets happen; None: everything."""
    if kind == "hours":
        begin, end = (int(value) for value in values)
        lasts = end - begin if begin < end else HOURS - begin + end
        hours = frozenset(str(hour % HOURS) for hour in range(begin, begin + lasts))
        return None if len(hours) == HOURS else hours
    allowed = frozenset(values)
    return None if kind == "weekdays" and allowed == DAYS else allowed


def options(given: Conditions) -> str:
    """As the command line takes them: `--family a100 --hours 8-18`."""
    return " ".join(_option(kind, values) for kind, values in given)


def _option(kind: str, values: tuple[str, ...]) -> str:
    name = OPTIONS.get(kind, f"--{kind}")
    if kind == "second_factor":
        return name
    return f"{name} {('-' if kind == 'hours' else ' ').join(values)}"
