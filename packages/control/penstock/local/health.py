"""Whether a process answers: it is asked, again and again, each time for a bounded time.

A process may live and do nothing: stopped, or stuck in a call that never ends. Only an answer
shows that it works.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SSL_REQUEST: Final = bytes.fromhex("00000008 04d2162f")  # Postgres answers it with one byte


class Silent(Exception):
    """It was asked and did not answer as it should."""


@dataclass(frozen=True)
class Health:
    """How to ask. It is silent once so many questions in a row had no answer.

    They are counted rather than timed: whoever asks may have been stopped, too.
    """

    ask: Callable[[], Awaitable[None]]
    every_s: float = 2.0
    answer_s_max: float = 5.0
    unanswered_max: int = 4

    async def until_silent(self, is_ready: Callable[[], bool]) -> None:
        """Return when it does not answer any more: it did before, or says that it is ready."""
        unanswered, answered = 0, False
        while unanswered < self.unanswered_max:
            await asyncio.sleep(self.every_s)
            if await self._answers():
                unanswered, answered = 0, True
            elif answered or is_ready():
                unanswered += 1

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(self.answer_s_max):
                await self.ask()
        except (OSError, Silent, asyncio.IncompleteReadError):  # TimeoutError is an OSError
            return False
        return True


def http(address: str) -> Health:
    """A plane's or an agent's `/healthz`."""
    host, _, port = address.rpartition(":")

    async def ask() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            if not (await reader.readexactly(12)).endswith(b" 200"):
                raise Silent(address)
        finally:
            writer.close()

    return Health(ask)


def postgres(socket: Callable[[], Path]) -> Health:
    """The postmaster behind a socket: whether it makes a process for whoever comes."""

    async def ask() -> None:
        reader, writer = await asyncio.open_unix_connection(socket())
        try:
            writer.write(SSL_REQUEST)
            await reader.readexactly(1)
        finally:
            writer.close()

    return Health(ask)
