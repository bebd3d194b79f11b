"""Wakeups: who waits for a feed is told, by PostgreSQL's NOTIFY, over one connection."""

import asyncio
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from penstock.kernel import log, sessions
from penstock.kernel.db import Tx
from penstock.kernel.faults import LOST
from penstock.kernel.outgoing import CHANNEL

AGAIN_S: Final = 0.2
logger = log.get(__name__)


def notify(tx: Tx, name: str) -> None:
    """Wake those who wait for `name`, in every process, when this transaction commits."""
    tx.outgoing.told.add(name)


class Wakeup:
    """One waiter. A signal between two waits is never lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


class Wakeups:
    """Passes notifications on to those who subscribed to their name."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: defaultdict[str, set[Wakeup]] = defaultdict(set)
        self.listening = asyncio.Event()

    @contextmanager
    def subscribe(self, *names: str) -> Generator[Wakeup, None, None]:
        wakeup = Wakeup()
        for name in names:
            self._waiting[name].add(wakeup)
        try:
            yield wakeup
        finally:
            for name in names:
                self._waiting[name].discard(wakeup)
                if not self._waiting[name]:
                    del self._waiting[name]

    def tell(self, name: str) -> None:
        """Wake the waiters of `name` (of every name, for `*`)."""
        groups = list(self._waiting.values()) if name == "*" else [self._waiting.get(name, set())]
        for group in groups:
            for wakeup in group:
                wakeup.set()

    async def listen(self) -> None:
        """Ensures that waiters are told, for ever; after a lost connection, all are."""
        while True:
            try:
                await self._listen_once()
            except LOST as error:
                logger.warning("notifications away", exc_info=error)
            self.listening.clear()
            await asyncio.sleep(AGAIN_S)

    async def _listen_once(self) -> None:
        connection = await sessions.open_beating(self._url, "penstock wakeups")
        try:
            await connection.add_listener(CHANNEL, self._hear)
            if log.back():
                logger.info("database back")
            self.listening.set()
            self.tell("*")
            await sessions.heed(connection)
        finally:
            connection.terminate()

    def _hear(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        for name in str(payload).split(","):
            self.tell(name)
