"""Whether a plane can work: its database answers, and takes writes."""

import asyncio
import time
from typing import Final

import asyncpg

from penstock.kernel import shortages
from penstock.kernel.db import Database, Tx

ANSWER_S_MAX: Final = 2.0
BELIEVED_S: Final = 1.0  # however often it is asked, it writes once in this time
# More rows than the least memory that a query can be given, so they go to the database's own
# disk: a real write, of 256 kB, that leaves nothing behind.
MEMORY: Final = "SELECT set_config('work_mem', '64kB', true)"
SPILL: Final = "SELECT count(*) FROM generate_series(1, 10000)"
READ_ONLY: Final = "SELECT current_setting('transaction_read_only')::boolean"


class Writable:
    """A check for `/readyz`: raises, in words for people, while the database takes no writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._until = 0.0

    async def __call__(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_S_MAX), self._database.transaction() as tx:
                await self._ask(tx)
        except TimeoutError:
            raise TimeoutError(f"no answer within {ANSWER_S_MAX:g} s") from None
        except shortages.SHORT as error:
            raise shortages.refusal(error) or error from None

    async def _ask(self, tx: Tx) -> None:
        if await tx.fetchval(READ_ONLY):
            raise asyncpg.ReadOnlySQLTransactionError("transactions are read-only")
        if time.monotonic() >= self._until:
            await tx.execute(MEMORY)
            await tx.fetchval(SPILL)
            self._until = time.monotonic() + BELIEVED_S
