"""Watches over a document while its workflow runs, and cuts off what is no longer wanted."""

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import dataclass

from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeup
from penstock.site.documents import service
from penstock.site.documents.model import Document, Standing


@dataclass(frozen=True)
class Verdict:
    standing: Standing
    reason: str = ""  # the operator's

    @property
    def words(self) -> str:
        return f"{self.standing}: {self.reason}" if self.reason else str(self.standing)


@dataclass(frozen=True)
class Watch:
    """`told` is set whenever the document may have changed, and at the beginning."""

    database: Database
    document: Document
    version: int
    told: Wakeup

    async def unless(
        self, work: Coroutine[object, object, None], ends: Collection[Standing]
    ) -> Verdict | None:
        """Run the work to its end: None. Or cut it off for one of these ends: which one it is."""
        doing = asyncio.create_task(work)
        watching = asyncio.create_task(self._until(ends))
        try:
            await asyncio.wait((doing, watching), return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return await doing
            return await watching
        finally:
            await _stop(doing, watching)

    async def _until(self, ends: Collection[Standing]) -> Verdict:
        while True:
            await self.told.wait()
            looked = False
            try:
                standing, reason = await self.database.run(
                    lambda tx: service.standing(tx, self.document, self.version)
                )
                looked = standing not in ends
            finally:
                if not looked:
                    self.told.set()  # for whoever watches next
            if standing in ends:
                return Verdict(standing, reason if standing is Standing.CANCELLED else "")


async def _stop(*tasks: asyncio.Task[object]) -> None:
    """Cancel what still runs, and let it end: a transaction is rolled back, not torn."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # whoever needs it has it
