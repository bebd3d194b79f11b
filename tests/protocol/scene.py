"""What every rule of the claims' machine works on: a database, two replicas, an expectation."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask
from penstock.kernel.db import Tx
from penstock_contracts import wire_pb2 as wire

from . import stage
from .expected import Expected
from .stage import Stage

T = TypeVar("T")

picks = st.integers(0, 1000)
rarely = st.sampled_from((False, False, False, True))


@dataclass(frozen=True)
class Place:
    """Where machines live: a loop, a maker of databases, a folder that arms failpoints."""

    loop: asyncio.Runner
    make: Callable[[], str]
    drop: Callable[[str], None]
    points: Path


class Scene(RuleBasedStateMachine):
    place_of: Place  # set by the test, which has the fixtures
    expected: Expected

    def __init__(self) -> None:
        super().__init__()
        self.url = self.place_of.make()
        self.stage: Stage = self.do(stage.open_stage(self.url))
        self.committers = [Committer(self.stage.database), Committer(self.stage.database)]
        self.asked: list[Ask] = []
        self.orders: dict[str, list[wire.DesiredAllocation]] = {}

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.place_of.loop.run(work)

    def run(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        return self.do(self.stage.run(work))

    def teardown(self) -> None:
        self.do(self.stage.database.close())
        self.place_of.drop(self.url)
