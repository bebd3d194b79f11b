"""Why somebody changes something: the header `X-Reason`, for the audit log."""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from fastapi import Request

from penstock.kernel import names
from penstock.kernel.errors import Invalid

HEADER: Final = "X-Reason"
READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# UTF-8, percent-encoded; what is ASCII may stay as it is, but for the percent sign.
ENCODED: Final = re.compile(r"(?:[\x20-\x24\x26-\x7e]|%[0-9A-Fa-f]{2})*")


def of(request: Request) -> str:
    """The reason that a changing request gives, if it gives one."""
    given = request.headers.get(HEADER)
    if given is None or request.method in READS:
        return ""
    if not ENCODED.fullmatch(given):
        raise _unreadable()
    try:
        reason = unquote_to_bytes(given).decode().strip()
    except UnicodeDecodeError:
        raise _unreadable() from None
    if not reason or len(reason) > names.TEXT_LENGTH_MAX or not names.is_clean(reason):
        raise Invalid(
            f"{HEADER}: a reason is 1 to {names.TEXT_LENGTH_MAX} characters, none of them a "
            "control character or invisible"
        )
    return reason


def _unreadable() -> Invalid:
    return Invalid(
        f"{HEADER}: the reason cannot be read",
        suggestion="send it as UTF-8, percent-encoded: `%` is `%25`, `é` is `%C3%A9`",
    )
