"""A process that writes every event into the diary until it is killed.

    consumer.py DATABASE_URL

Writes one line when it is ready, and one for each event that it writes down.
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from kernel import diary
from kernel.conftest import listening
from penstock.kernel import consumers, db
from penstock.kernel.consumers import Begin
from penstock.kernel.db import Tx
from penstock.kernel.events import Event


async def note(tx: Tx, event: Event) -> None:
    await diary.write(tx, event.subject.encode())
    print(event.seq, flush=True)
    await asyncio.sleep(0.003)  # so that there is a middle to be killed in


async def main(url: str) -> None:
    database = await db.connect(url, "central", size=2)
    async with listening(url) as wakeups:
        print("ready", flush=True)
        await consumers.consume(database, wakeups, "diary", note, begin=Begin.START, at_once_max=20)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
