"""The fleet for those who only look. They take no lock, so it may be a moment old."""

import asyncio
from typing import Protocol

from penstock.central.placement.snapshot import Snapshot
from penstock.kernel.db import Tx
from penstock.kernel.questions import ask
from penstock.kernel.stalls import Stalls
from penstock.placement.model import Fleet


class FleetReader(Protocol):
    async def read(self, tx: Tx) -> Fleet:
        """The fleet as it is now. To be used before the next await: who reads after this
        one brings the same fleet up to date."""
        ...


class Reading:
    """A fleet of its own, apart from the one that placement plans on."""

    def __init__(self, stalls: Stalls | None = None) -> None:
        self._snapshot = Snapshot(stalls)
        self._turn = asyncio.Lock()

    async def read(self, tx: Tx) -> Fleet:
        async with self._turn:
            fleet = await self._snapshot.borrow(tx, await ask(tx, self._snapshot.news()))
            self._snapshot.settle()
            return fleet
