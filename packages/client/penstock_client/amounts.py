"""Money as people write it, in whole micros."""

import re
from fractions import Fraction

from penstock_client import errors


def micros_of(text: str, option: str) -> int:
    """Exact or refused: money is never rounded."""
    if not re.fullmatch(r"-?[0-9]{1,30}(\.[0-9]{1,30})?", text, re.ASCII):
        raise errors.Misused(f"{option} {text!r} is not an amount such as 2.49")
    micros = Fraction(text) * 1_000_000
    if micros.denominator != 1 or micros < 0:
        raise errors.Misused(f"{option} {text!r} is negative or finer than a millionth")
    return int(micros)
