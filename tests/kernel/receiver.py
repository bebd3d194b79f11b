"""A process that receives the diary's feed over gRPC until it is killed.

    receiver.py DATABASE_URL ADDRESS

Writes one line for each batch that it applied.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc.aio

sys.path.insert(0, str(Path(__file__).parent.parent))

from kernel import diary
from kernel.streams import Silent
from penstock.kernel import db
from penstock_contracts import link, rpc
from penstock_contracts.wire_pb2 import Entry


class Told:
    """An inbox that says when it applied something."""

    def __init__(self, inbox: link.Inbox) -> None:
        self._inbox = inbox

    async def cursor(self) -> int:
        return await self._inbox.cursor()

    async def apply(self, entries: Sequence[Entry]) -> int:
        cursor = await self._inbox.apply(entries)
        print(cursor, flush=True)
        return cursor


async def main(url: str, address: str) -> None:
    database = await db.connect(url, "site")
    async with grpc.aio.insecure_channel(address) as channel:
        await link.run(rpc.ClientStream(channel), Silent(), Told(diary.inbox(database)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
