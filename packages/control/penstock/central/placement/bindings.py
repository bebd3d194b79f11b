"""What a site must know of each slot that is claimed. A slot never changes, so it is read once."""

from collections.abc import Iterable, Sequence
from typing import Final

from penstock.central.slots import binding
from penstock.kernel.db import Record
from penstock.placement.model import Part

KNOWN_MAX: Final = 1 << 17


class Bindings:
    """Of the slots on nodes where this replica placed something, without fences; bounded."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}  # encoded: cheap to keep, cheap to send

    def lack(self, parts: Iterable[Part]) -> set[str]:
        """The nodes of which a slot is not known."""
        known = self._known
        return {part.node_id for part in parts for slot in part.slot_ids if slot not in known}

    def learn(self, rows: Sequence[Record]) -> None:
        for row in rows:
            self._known[row["id"]] = binding.encode(*row)

    def forget(self) -> None:
        """Between batches, if too many are known: no batch loses what it counts on."""
        if len(self._known) > KNOWN_MAX:
            self._known.clear()

    def of(self, slot_ids: Sequence[str], fence: int) -> list[bytes]:
        """Encoded, under this fence."""
        fenced = binding.claim(fence)
        return [self._known[id] + fenced for id in slot_ids]
