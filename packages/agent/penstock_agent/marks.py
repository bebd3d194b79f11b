"""What can be waited for."""

import asyncio


class Mark:
    """A number that only grows, and that can be waited for."""

    def __init__(self, value: int) -> None:
        self.value = value
        self._grown = asyncio.Event()

    def reach(self, value: int) -> None:
        if value > self.value:
            self.value = value
            self._grown.set()

    async def beyond(self, value: int) -> None:
        while self.value <= value:
            self._grown.clear()
            await self._grown.wait()
