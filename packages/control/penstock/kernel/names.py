"""Names that people give to things: short, plain, safe in a terminal and in a URL."""

import unicodedata
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from penstock.kernel import shapes
from penstock_contracts import ids
from penstock_contracts.addresses import EMAIL, EMAIL_LENGTH_MAX

TAGS_MAX: Final = 32
TEXT_LENGTH_MAX: Final = 500
# Control characters, and those that are not seen but change what is: direction, joining, lines.
UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})


def is_clean(text: str) -> bool:
    """Whether all of it is seen as it is, in any script."""
    return UNSEEN.isdisjoint(map(unicodedata.category, text))


def _clean(text: str) -> str:
    if not is_clean(text):
        raise ValueError("control characters and invisible ones are not text")
    return text


def _no_id(text: str) -> str:
    """An id is looked for first, so that what has another's id for a name is never found."""
    if ids.is_id(text):
        raise ValueError("a name cannot look like an id")
    return text


Name = Annotated[
    str,
    StringConstraints(pattern=shapes.NAME, max_length=63),
    AfterValidator(_no_id),
]
Email = Annotated[str, StringConstraints(max_length=EMAIL_LENGTH_MAX, pattern=EMAIL)]
Text = Annotated[
    str,
    StringConstraints(max_length=TEXT_LENGTH_MAX, pattern=shapes.TEXT),
    AfterValidator(_clean),
]
# An id or a name, where either will do.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=shapes.REFERENCE)]


def _each_once(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise ValueError("each may be there once")
    return sorted(values)


# A fact about a thing that others may ask for: `eu`, `country:de`.
Tag = Annotated[str, StringConstraints(pattern=shapes.TAG, max_length=63)]
Tags = Annotated[list[Tag], Field(max_length=TAGS_MAX), AfterValidator(_each_once)]
Currency = Annotated[str, Field(pattern=shapes.CURRENCY)]
# A list of which something must be one.
Names = Annotated[list[Name], Field(min_length=1, max_length=64), AfterValidator(_each_once)]
# What people call images: `ubuntu:24.04`, `registry.example/team/train@v2`.
Image = Annotated[str, StringConstraints(pattern=shapes.IMAGE, max_length=128)]
Images = Annotated[list[Image], Field(min_length=1, max_length=64), AfterValidator(_each_once)]
References = Annotated[
    list[Reference], Field(min_length=1, max_length=64), AfterValidator(_each_once)
]
