"""Headers that make an answer safe in a browser, whatever opened it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

Header = tuple[bytes, bytes]

SAFE: Final[Sequence[Header]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
NOTHING: Final = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def headers(given: Sequence[Header], *, hsts_s: int) -> Sequence[Header]:
    """What to add to an answer that has these. A page that needs more than nothing says so in a
    policy of its own, which is not overruled."""
    return _beside(tuple([name for name, _ in given]), hsts_s)


@lru_cache(maxsize=256)
def _beside(given: tuple[bytes, ...], hsts_s: int) -> Sequence[Header]:
    """Most answers have the same few headers."""
    names = {name.lower() for name in given}
    added = [*SAFE, (b"content-security-policy", NOTHING)]
    if hsts_s:
        added.append((b"strict-transport-security", b"max-age=%d; includeSubDomains" % hsts_s))
    return tuple(header for header in added if header[0] not in names)
