"""What a node should hold. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    COMING = "coming"  # ordered: the host may hold it already
    HELD = "held"  # the node proved that the tenant has it
    GOING = "going"  # its release is ordered: the host may hold it still


@dataclass(frozen=True)
class Expected:
    """One allocation on a node."""

    standing: Standing
    slots: Mapping[str, int]  # their fences
