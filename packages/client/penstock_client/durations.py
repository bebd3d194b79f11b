"""Lengths of time as people write them."""

import re
from typing import Final

from penstock_client.errors import Misused

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(text: str) -> int:
    """`90s`, `30m`, `12h`, `7d`."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if found is None:
        raise Misused(f"{text!r} is no length of time; write it as 90s, 30m, 12h or 7d")
    return int(found[1]) * UNITS[found[2]]
