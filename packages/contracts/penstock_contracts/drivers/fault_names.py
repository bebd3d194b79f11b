"""Faults by their names on the links: `NoCapacity` is `no_capacity`."""

import re
from typing import Final

from penstock_contracts.drivers.faults import CLOSED_SET, DriverFault

_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")  # where a word of a class's name begins


def name(fault: type[DriverFault]) -> str:
    return _WORD.sub("_", fault.__name__).lower()


BY_NAME: Final[dict[str, type[DriverFault]]] = {name(fault): fault for fault in CLOSED_SET}
