"""What must always hold."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict


class Invariant(TypedDict):
    name: str
    violations: int
    found: NotRequired[list[Mapping[str, object]]]  # the first violations
