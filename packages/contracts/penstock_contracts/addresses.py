"""Email addresses, in the one form that is taken everywhere."""

import re
from typing import Final

# Plain ASCII: an address that only looks like another is nobody's.
EMAIL: Final = r"^[A-Za-z0-9._%+-]{1,64}@([A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z0-9-]{2,63}$"
EMAIL_LENGTH_MAX: Final = 254

_ADDRESS: Final = re.compile(EMAIL)


def normal(email: str) -> str | None:
    """The address as it is stored and compared; None if it is none."""
    lowered = email.strip().lower()
    fits = len(lowered) <= EMAIL_LENGTH_MAX and _ADDRESS.fullmatch(lowered)
    return lowered if fits else None
