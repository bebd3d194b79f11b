"""The platform's events, followed once and heard by all who subscribe in this process."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock_client import errors
from penstock_client.api import Client
from penstock_client.views.events import Event
from penstock_contracts import files

RETRY_S: Final = 1.0
SEQUENCE_DIGITS_MAX: Final = 18


class EventPump:
    """Follows the log from where an earlier run ended, in a thread that ends with us."""

    def __init__(self, client: Client, mark: Path) -> None:
        self._client = client
        self._mark = mark
        self._after = mark_of(mark)
        self._loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        self._queues: set[asyncio.Queue[Event]] = set()

    def start(self) -> None:
        threading.Thread(target=self._follow, name="events", daemon=True).start()

    def stop(self) -> None:
        """Hear no more; remember where we were."""
        self._ended.set()
        with suppress(OSError):  # without it the next run hears some events again
            files.write_private(self._mark, self._after.encode())

    def subscribe(self) -> "asyncio.Queue[Event]":
        queue: asyncio.Queue[Event] = asyncio.Queue()
        self._queues.add(queue)
        return queue

    def unsubscribe(self, queue: "asyncio.Queue[Event]") -> None:
        self._queues.discard(queue)

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                for event in self._client.events.watch(after=self._after):
                    if self._ended.is_set():
                        return
                    self._loop.call_soon_threadsafe(self._hand_out, event)
            except errors.ClientError:
                self._ended.wait(RETRY_S)  # central is being started again
            except RuntimeError:
                return  # the loop is closed: so are we

    def _hand_out(self, event: Event) -> None:
        self._after = str(event["sequence"])
        for queue in self._queues:
            queue.put_nowait(event)


def mark_of(mark: Path) -> str:
    """Where an earlier run ended; the beginning, if that cannot be known."""
    seen = mark.read_bytes().strip() if mark.exists() else b""
    return seen.decode() if seen.isdigit() and len(seen) <= SEQUENCE_DIGITS_MAX else "0"
