"""Rules of placing: one replica, both at once, broken around the commit, asked again."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from penstock.central.placement import commit
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask, Outcome, Placed
from penstock.kernel.errors import Problem
from penstock.placement.model import Shape
from penstock_contracts.failpoints import FailpointHit

from . import stage
from .scene import Scene, picks

SIZES: Final = (4, 3, 2)
LIMITS: Final[dict[str, int | None]] = {"rich": None, "poor": 5}
Wishes = list[tuple[str, tuple[Shape, int]]]

replicas = st.integers(0, 1)
slices = st.tuples(st.just(Shape.GPU_SLICE), st.sampled_from((1, 1, 2, 2, 3, 4)))
metal = st.tuples(st.just(Shape.BAREMETAL), st.sampled_from(SIZES))
sizes = st.one_of(slices, slices, metal)
wishes = st.lists(st.tuples(st.sampled_from(tuple(LIMITS)), sizes), min_size=1, max_size=3)


class Placing(Scene):
    def ask(self, wishes: Wishes) -> list[Ask]:
        asks = [
            Ask(
                actor=self.stage.actors[tenant],
                project="main",
                sku=stage.SKU[shape],
                gpus=gpus,
                site=None,
                correlation_id="machine",
                key=f"key-{len(self.asked) + number}",
                fingerprint=b"same",
            )
            for number, (tenant, (shape, gpus)) in enumerate(wishes)
        ]
        self.asked += asks
        return asks

    def believe(self, wishes: Wishes, outcomes: Sequence[Outcome]) -> None:
        """Placements first: room only shrinks, so what was refused cannot fit afterwards."""
        for (tenant, (shape, gpus)), outcome in zip(wishes, outcomes, strict=True):
            if isinstance(outcome, Placed):
                made = outcome.allocation
                taken = list[str](made.slot_ids)
                self.expected.place(made.id, tenant, shape, gpus, made.where[1], taken)
                self.orders[made.id] = [self.do(self.stage.order(made.id))]
        for (tenant, (shape, gpus)), outcome in zip(wishes, outcomes, strict=True):
            if isinstance(outcome, Problem):
                why = self.expected.refusal(tenant, shape, gpus)
                assert why, f"{gpus} as {shape} for {tenant} fits, but: {outcome.detail}"
                assert outcome.code in ("quota_exceeded", "sku_unavailable"), outcome.detail

    @rule(wishes=wishes, replica=replicas)
    def place(self, wishes: Wishes, replica: int) -> None:
        self.believe(wishes, self.do(self.committers[replica].commit(self.ask(wishes))))

    @rule(one=wishes, other=wishes)
    def place_at_once(self, one: Wishes, other: Wishes) -> None:
        """Both replicas commit at the same time."""
        asks = self.ask(one), self.ask(other)

        async def race() -> list[Sequence[Outcome]]:
            pairs = zip(self.committers, asks, strict=True)
            return list(await asyncio.gather(*(c.commit(mine) for c, mine in pairs)))

        first, second = self.do(race())
        self.believe(one + other, [*first, *second])

    @rule(wishes=wishes, replica=replicas, committed=st.booleans(), after=replicas)
    def place_and_fail(self, wishes: Wishes, replica: int, committed: bool, after: int) -> None:
        """A replica breaks just before or just after its commit; the request is made again."""
        point = commit.AFTER if committed else commit.BEFORE
        armed = self.place_of.points / point.name
        armed.write_text("fail")
        asks = self.ask(wishes)
        try:
            outcomes = self.do(self.committers[replica].commit(asks))
        except FailpointHit:
            again = [dataclasses.replace(ask) for ask in asks]
            outcomes = self.do(self.committers[after].commit(again))
        finally:
            armed.unlink(missing_ok=True)
        self.believe(wishes, outcomes)

    @precondition(lambda self: self.asked)
    @rule(pick=picks, replica=replicas)
    def ask_again(self, pick: int, replica: int) -> None:
        """The same request once more, to whichever replica: nothing new comes of a placed one."""
        ask = self.asked[pick % len(self.asked)]
        if ask.id in self.expected.leases:
            (outcome,) = self.do(self.committers[replica].commit([ask]))
            assert isinstance(outcome, Placed)
            assert outcome.allocation.id == ask.id

    @rule(replica=replicas)
    def crash(self, replica: int) -> None:
        """A replica starts over, with no snapshot."""
        self.committers[replica] = Committer(self.stage.database)
