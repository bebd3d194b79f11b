"""Runs child processes in order, keeps them running, stops them in reverse."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from penstock.local.keeper import Child, ChildFailed, Keeper

__all__ = ["Child", "ChildFailed", "Supervisor"]

Tell = Callable[[str, str], None]
"""Hears (name of the child, one line): what it wrote, or what became of it."""


class Supervisor:
    def __init__(self, logs: Path, wrote: Tell, told: Tell) -> None:
        """`wrote` hears each line of a child, `told` hears that one ended or came back."""
        self._logs = logs
        self._wrote = wrote
        self._told = told
        self._keepers: list[Keeper] = []

    async def start(self, child: Child) -> dict[str, object]:
        """Start a child, and return what it said when it was ready.

        From then on it is started again whenever it ends. Raises ChildFailed if it
        never becomes ready.
        """
        keeper = Keeper(
            child,
            self._logs / f"{child.name}.log",
            wrote=lambda line: self._wrote(child.name, line),
            told=lambda line: self._told(child.name, line),
        )
        self._keepers.append(keeper)
        return await keeper.start()

    async def stop(self) -> None:
        """End all children, the last started first, each before the next."""
        while self._keepers:
            await asyncio.shield(self._keepers[-1].stop())
            self._keepers.pop()

    def hurry(self) -> None:
        """End what still runs at once."""
        for keeper in self._keepers:
            keeper.kill()
