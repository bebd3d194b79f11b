"""Jars: a kind of site work in a package of its own. No file of Penstock knows of it.

A jar is washed, filled and closed; each step is told as done. `bench` is its world: what was done
to each jar, in order, and what a test wants to go wrong.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from penstock.kernel.db import Tx
from penstock.site.documents import service as documents
from penstock.site.documents import telling
from penstock.site.documents.model import Document
from penstock.site.sagas.kinds import Kind
from penstock.site.sagas.model import Retries, Saga, Step
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire

STEPS = ("wash", "fill", "close")
QUICK = Retries(attempts_max=4, first_s=0.01, last_s=0.02)


@dataclass(frozen=True)
class Jar:
    document: Document
    content: str


@dataclass
class Bench:
    """`trouble` is raised by the next runs of a step, one each; in a `stuck` step all waits."""

    done: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    trouble: defaultdict[tuple[str, str], list[Exception]] = field(
        default_factory=lambda: defaultdict(list)
    )
    stuck: set[tuple[str, str]] = field(default_factory=set)
    reached: defaultdict[tuple[str, str], asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )


bench = Bench()


class Filling:
    """The saga, in the versions that this package has."""

    def __init__(self, tasks: Tasks, version: int = 1, older: tuple[int, ...] = ()) -> None:
        self._database = tasks.database
        self.saga = Saga(
            "fill",
            self._steps(version),
            self._failed,
            version,
            {number: self._steps(number) for number in older},
        )

    def _steps(self, version: int) -> tuple[Step[Jar], ...]:
        """From its second version on, a jar gets a label, too."""
        names = (*STEPS, "label")[: 3 if version == 1 else 4]
        return tuple(
            Step(name, self._do(name, version), self._undo(name, version), QUICK) for name in names
        )

    def _do(self, name: str, version: int) -> Callable[[Jar], Awaitable[None]]:
        async def do(jar: Jar) -> None:
            key = jar.document.key
            await self._database.run(lambda tx: documents.still_wanted(tx, jar.document))
            bench.reached[key, name].set()
            if bench.trouble[key, name]:
                raise bench.trouble[key, name].pop(0)
            if (key, name) in bench.stuck:
                await asyncio.Event().wait()
            bench.done[key].append(f"{name} v{version}")
            await self._database.run(partial(_tell, jar, name))

        return do

    def _undo(self, name: str, version: int) -> Callable[[Jar], Awaitable[None]]:
        async def undo(jar: Jar) -> None:
            key = jar.document.key
            if bench.trouble[key, f"undo {name}"]:
                raise bench.trouble[key, f"undo {name}"].pop(0)
            bench.done[key].append(f"undo {name} v{version}")

        return undo

    async def _failed(self, jar: Jar, reason: str) -> None:
        async def tell(tx: Tx) -> None:
            await telling.step(tx, jar.document, "fill", "fail", wire.STEP_STATUS_FAILED, reason)

        await self._database.run(tell)


async def _tell(jar: Jar, name: str, tx: Tx) -> None:
    await telling.step(tx, jar.document, "fill", name, wire.STEP_STATUS_DONE)


def decode(document: Document) -> Jar:
    content = json.loads(document.body)
    if not isinstance(content, str):
        raise ValueError("a jar holds text")
    return Jar(document, content)


def kind(tasks: Tasks, version: int = 1, older: tuple[int, ...] = ()) -> Kind[Jar]:
    saga = Filling(tasks, version, older).saga
    return Kind("jar", decode, lambda _: saga, (saga,))
