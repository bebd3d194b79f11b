"""Whole numbers that come from outside as text."""

import re
from typing import Final

BIGINT_MAX: Final = 2**63 - 1  # what the database can hold
DIGITS: Final = re.compile(r"[0-9]{1,19}")


def whole(text: str, most: int = BIGINT_MAX) -> int | None:
    """The number, if the text is one that is not too large. What else Python takes for digits
    (`²`, `٣`), signs and spaces make it none."""
    if not DIGITS.fullmatch(text):
        return None
    number = int(text)
    return number if number <= most else None
