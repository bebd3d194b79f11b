"""Lets go of connections whose other side takes nothing of what it is sent.

What is sent waits in memory until it is taken, and whoever sends waits with it: for a reader that
never reads, for ever.
"""

import asyncio
from typing import Final

UNREAD_S_MAX: Final = 30.0
TAKEN_BYTES_MIN: Final = 4096  # within that time: who reads slowly is waited for


class Unread:
    """A clock that runs while as much waits in a transport as it keeps."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._left = 0
        self._clock: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.stop()
        self._left = self._transport.get_write_buffer_size()
        self._clock = asyncio.get_running_loop().call_later(UNREAD_S_MAX, self._look)

    def stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _look(self) -> None:
        if self._left - self._transport.get_write_buffer_size() >= TAKEN_BYTES_MIN:
            self.start()
        else:
            self._transport.abort()  # to close it would wait until all is taken
