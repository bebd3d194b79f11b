"""The shapes that text may have, and what each is in words, for whoever wrote it otherwise."""

from typing import Final

from penstock_contracts.addresses import EMAIL

NAME: Final = r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$"
TAG: Final = r"^[a-z0-9]([a-z0-9.:_-]{0,61}[a-z0-9])?$"
IMAGE: Final = r"^[a-z0-9]([a-z0-9.:/@_-]{0,126}[a-z0-9])?$"
REFERENCE: Final = r"^[a-z0-9._-]+$"
TEXT: Final = r"^[^\x00-\x1f\x7f-\x9f]*$"
CURRENCY: Final = r"^[A-Z]{3}$"
PREFIX: Final = r"^[0-9a-f.:/]+$"

_ENDS: Final = "beginning and ending with a letter or a digit"
_WORDS: Final = {
    NAME: f"a name is small letters, digits, `.`, `_` and `-`, {_ENDS}",
    TAG: f"a tag is small letters, digits, `.`, `:`, `_` and `-`, {_ENDS}",
    IMAGE: f"an image is small letters, digits, `.`, `:`, `/`, `@`, `_` and `-`, {_ENDS}",
    REFERENCE: "an id or a name is wanted: small letters, digits, `.`, `_` and `-`",
    TEXT: "control characters are not text: write it on one line",
    CURRENCY: "a currency is three capital letters, as in USD",
    PREFIX: "a network is wanted, as in 10.0.0.0/16 or fd00::/48",
    EMAIL: "an email address is wanted, as in ann@example.com, in plain ASCII",
}


def in_words(shape: str) -> str:
    """Never the expression itself: it says nothing to most people."""
    return _WORDS.get(shape, "it is not written as it has to be")
