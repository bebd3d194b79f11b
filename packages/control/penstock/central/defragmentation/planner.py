"""The planner of moves: reads the fleet, thinks outside any transaction, remembers."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock.central.placement import running as slices
from penstock.central.placement.reading import FleetReader
from penstock.kernel.db import Database, Tx
from penstock.placement.defragmentation import defrag, yards
from penstock.placement.defragmentation.moves import MovePlan, Target
from penstock.placement.defragmentation.yards import Yard

# A plan that took long to make is used for ten times as long, even if the fleet has changed:
# so planning takes at most a tenth of the time, however often it is asked for.
LONG_S: Final = 0.05
USE: Final = 10


@dataclass(frozen=True)
class Wanted:
    family: str
    site_id: str
    target: Target

    @property
    def ground(self) -> tuple[str, str]:
        return (self.family, self.site_id)


@dataclass(frozen=True)
class Survey:
    """What is known of the ground, and when: plans of another `time` are no longer true."""

    time: object
    yards: dict[tuple[str, str], list[Yard]]


class Planner:
    def __init__(self, database: Database, fleet: FleetReader) -> None:
        self._database = database
        self._fleet = fleet
        self._turn = asyncio.Lock()
        self._plans: dict[Wanted, MovePlan] = {}
        self._time: object = None
        self._good_until = 0.0

    async def plans(
        self, wanted: Collection[Wanted], *, fresh: bool = False
    ) -> dict[Wanted, MovePlan]:
        """Each by what was wanted. Not `fresh`: it may be some seconds old in a large fleet."""
        async with self._turn:
            clock = asyncio.get_running_loop().time
            known = self._plans.keys() >= set(wanted)
            if fresh or not known or clock() >= self._good_until:
                begun = clock()
                await self._renew(wanted)
                took_s = clock() - begun
                self._good_until = clock() + (USE * took_s if took_s > LONG_S else 0.0)
            return {each: self._plans[each] for each in wanted}

    async def _renew(self, wanted: Collection[Wanted]) -> None:
        survey = await self._database.run(lambda tx: self._survey(tx, wanted), patient=False)
        if survey.time != self._time:
            self._plans, self._time = {}, survey.time
        missing = [each for each in wanted if each not in self._plans]
        self._plans |= await asyncio.to_thread(_make, survey.yards, missing)

    async def _survey(self, tx: Tx, wanted: Collection[Wanted]) -> Survey:
        stamp = await slices.stamp(tx)
        time = ((await self._fleet.read(tx)).revision, stamp)
        known = self._plans if time == self._time else {}
        grounds = {each.ground for each in wanted if each not in known}
        if not grounds:
            return Survey(time, {})
        families, sites = (sorted(set(names)) for names in zip(*grounds, strict=True))
        running = await slices.running(tx, families, sites)
        fleet = await self._fleet.read(tx)
        found = {ground: fleet.family(ground[0]) for ground in grounds}
        return Survey(
            time,
            {
                ground: yards.survey(family, ground[1], running) if family else []
                for ground, family in found.items()
            },
        )


def _make(
    surveyed: dict[tuple[str, str], list[Yard]], wanted: list[Wanted]
) -> dict[Wanted, MovePlan]:
    return {each: defrag.plan(surveyed[each.ground], each.target) for each in wanted}
