"""Sizes as people write and read them, in whole bytes."""

import re
from fractions import Fraction
from typing import Final

from penstock_client.errors import Misused

UNITS: Final = {
    "B": 1,
    **{unit: 1000**n for n, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), 1)},
    **{unit: 1024**n for n, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), 1)},
}
LARGEST_FIRST: Final = sorted(UNITS, key=UNITS.__getitem__, reverse=True)


def bytes_of(text: str, option: str) -> int:
    """`2TiB`, `1.5 TB`, `4096`: exact or refused, and never guessed (`2T` could be either)."""
    found = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)", text, re.ASCII)
    unit = UNITS.get(found[2] or "B") if found else None
    if found is None or unit is None:
        raise Misused(f"{option} {text!r} is no size; write it as 2TiB, 500GB or in bytes")
    size = Fraction(found[1]) * unit
    if size.denominator != 1:
        raise Misused(f"{option} {text!r} is not a whole number of bytes")
    return int(size)


def said(count: int) -> str:
    """Exact: in the largest unit of which it is a whole number."""
    unit = next(unit for unit in LARGEST_FIRST if count % UNITS[unit] == 0) if count else "B"
    return f"{count // UNITS[unit]} {unit}"
