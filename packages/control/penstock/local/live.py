"""The live line: nodes, GPUs, and what happened last."""

import asyncio
from collections import deque
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from penstock.local import fleet, story
from penstock.local.fleet import Count
from penstock.local.stack import Running
from penstock_client import errors, words
from penstock_client.views.events import Event

EVENTS_SHOWN: Final = 5
SPACING_S: Final = 0.5


class LiveView:
    def __init__(self, running: Running) -> None:
        self._running = running
        self._events: deque[Event] = deque(maxlen=EVENTS_SHOWN)
        self._count: Count | None = None
        self._trouble = ""

    async def follow(self) -> None:
        """Ensures that what is shown is what central last said."""
        queue = self._running.pump.subscribe()
        while True:
            await self._look()
            self._events.append(await queue.get())
            await asyncio.sleep(SPACING_S)  # a burst of events is one look
            while not queue.empty():
                self._events.append(queue.get_nowait())

    async def _look(self) -> None:
        try:
            nodes = await fleet.nodes_of(self._running.client, self._running.platform.site)
        except errors.ClientError as error:
            self._trouble = str(error)
        else:
            self._count, self._trouble = fleet.count(nodes), ""

    def __rich__(self) -> RenderableType:
        lines = [
            Text(f"{words.age(event['time']):>8}  {story.tell(event)}", "dim", no_wrap=True)
            for event in self._events
        ]
        return Group(Text(), *lines, Text(self._status(), "bold", no_wrap=True))

    def _status(self) -> str:
        if self._trouble or self._count is None:
            return words.safe(self._trouble)
        of = self._count
        return (
            f"{of.nodes_connected}/{of.nodes} nodes connected · "
            f"{of.gpus - of.gpus_free}/{of.gpus} GPUs in use · Ctrl-C stops"
        )
