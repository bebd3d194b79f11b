"""The solver's fleet, kept current from the log of changes. Who plans on it holds the fleet's
lock; who only reads the log needs none, if all that it reads is of one moment."""

import gc
from collections.abc import Iterable, Sequence
from typing import Final

from penstock.central import fleet
from penstock.central.fleet import Change, NodeRow
from penstock.central.nodes.seen import see_all
from penstock.kernel.db import Tx
from penstock.kernel.questions import Question
from penstock.kernel.stalls import Stalls
from penstock.placement.model import Fleet, Part

LAST: Final = (1 << 63) - 1  # a revision that nothing comes after: who reads all has no news


class Snapshot:
    """One replica's fleet.

    It is lent to one transaction at a time, which says what it takes. That becomes true only
    if it commits and `settle` is called; otherwise the next loan reads those nodes anew.
    """

    def __init__(self, stalls: Stalls | None = None) -> None:
        self._stalls = stalls or Stalls()
        self._stall = self._stalls.look()
        self._fleet = Fleet(revision=-1)
        self._settled = -1  # the revision that is surely the database's; before the first: -1
        self._unsure: set[str] = set()

    def news(self) -> Question[list[Change]]:
        """What happened since the last loan, to be asked for before the next one."""
        if self._stall != self._stalls.look():
            self._stall = self._stalls.look()
            self.doubt()
        return fleet.changes_since(self._settled if self._settled >= 0 else LAST)

    async def borrow(self, tx: Tx, changes: Sequence[Change]) -> Fleet:
        """The fleet as it is, given what its news were."""
        if changes and changes[-1].revision - self._settled != len(changes):
            self.doubt()  # the log was trimmed beyond what this replica knew
        if self._settled < 0:
            revision = await fleet.revision(tx)
            self._fleet = await _read(tx)
            self._unsure.clear()
            gc.freeze()  # a fleet is large and lives long: collecting it in vain would take 100 ms
        else:
            revision = await self._catch_up(tx, changes)
        self._settled = self._fleet.revision = revision
        return self._fleet

    async def _catch_up(self, tx: Tx, changes: Sequence[Change]) -> int:
        anew = self._unsure | {change.node_id for change in changes if change.kind == "node"}
        seen = list(see_all(await fleet.nodes(tx, sorted(anew)))) if anew else []
        # From here on nothing is waited for: no change is applied twice, or without the others.
        for change in changes:
            if change.node_id not in anew:
                known = self._fleet.hold if change.kind == "claim" else self._fleet.free
                known(Part(change.node_id, change.slot_ids))
        for id in anew:
            self._fleet.drop(id)
        for node in seen:
            self._fleet.put(node)
        self._unsure.clear()
        return changes[-1].revision if changes else self._settled

    def take(self, nodes: Iterable[str]) -> int:
        """The borrower takes something on these nodes; the revision of that change."""
        self._unsure.update(nodes)
        self._fleet.revision += 1
        return self._fleet.revision

    def doubt(self) -> None:
        """Until it is settled, nothing of this fleet is sure: the next loan reads it all anew."""
        self._settled = -1

    def settle(self) -> Fleet:
        """What was taken since the loan is in the database."""
        self._settled = self._fleet.revision
        self._unsure.clear()
        return self._fleet


async def _read(tx: Tx) -> Fleet:
    """All of it. While nodes are put into it, the database reads the next ones."""
    whole = Fleet()

    def put(rows: list[NodeRow]) -> None:
        for node in see_all(rows):
            whole.put(node)

    await fleet.all_nodes(tx, put)
    return whole
