"""Rules of placing: one replica, both at once, broken around the commit, asked again, waiting."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from penstock.central.allocations import release
from penstock.central.allocations.model import Allocation, Status
from penstock.central.placement import commit
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.kernel.errors import Problem
from penstock.placement.model import Shape
from penstock_contracts.failpoints import FailpointHit

from . import stage
from .expected import Wish
from .scene import Scene, picks, rarely

SIZES: Final = (4, 3, 2)
LIMITS: Final[dict[str, int | None]] = {"rich": None, "poor": 5}
Wishes = list[tuple[str, tuple[Shape, int]]]

replicas = st.integers(0, 1)
slices = st.tuples(st.just(Shape.GPU_SLICE), st.sampled_from((1, 1, 2, 2, 3, 4)))
metal = st.tuples(st.just(Shape.BAREMETAL), st.sampled_from(SIZES))
sizes = st.one_of(slices, slices, metal)
wishes = st.lists(st.tuples(st.sampled_from(tuple(LIMITS)), sizes), min_size=1, max_size=3)


class Placing(Scene):
    def ask(self, wishes: Wishes, *, queue: bool = False) -> list[Ask]:
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
                queue=queue,
            )
            for number, (tenant, (shape, gpus)) in enumerate(wishes)
        ]
        self.asked += asks
        return asks

    def believe(self, wishes: Wishes, outcomes: Sequence[Outcome], *, raced: bool = False) -> None:
        """Placements first: room only shrinks, so what was refused cannot fit afterwards."""
        told = list(zip(wishes, outcomes, strict=True))
        for (tenant, (shape, gpus)), outcome in told:
            if isinstance(outcome, Queued):
                self.expected.waiting[outcome.allocation.id] = Wish(tenant, shape, gpus)
            elif isinstance(outcome, Placed):
                self.placed(outcome.allocation, Wish(tenant, shape, gpus))
        kept = self.look_at_the_line()
        for (tenant, (shape, gpus)), outcome in told:
            if isinstance(outcome, Problem):
                # Between two rounds at once a head may have stopped being one.
                why = self.expected.refusal(tenant, shape, gpus, kept)
                assert why or raced, f"{gpus} as {shape} for {tenant} fits, but: {outcome.detail}"
                assert outcome.code in ("quota_exceeded", "sku_unavailable"), outcome.detail

    def placed(self, made: Allocation, wish: Wish) -> None:
        taken = list[str](made.slot_ids)
        self.expected.place(made.id, wish.tenant, wish.shape, wish.gpus, made.where[1], taken)
        self.orders[made.id] = [self.do(self.stage.order(made.id))]

    def look_at_the_line(self) -> frozenset[str]:
        """After a round: who waited is placed, or fits nowhere that is not kept for another."""
        if not self.expected.waiting:
            return frozenset()
        now = self.do(self.stage.waited(self.expected.waiting))
        assert len(now) == len(self.expected.waiting)
        for allocation in now:
            if allocation.placed_at is not None:
                self.placed(allocation, self.expected.waiting.pop(allocation.id))
        staying = [allocation for allocation in now if allocation.placed_at is None]
        heads = [allocation for allocation in staying if allocation.wait.kept_nodes]
        assert len(heads) <= 1, "all are of one family, at one site and of one priority"
        kept = frozenset(node for head in heads for node in head.wait.kept_nodes)
        for allocation in staying:
            assert allocation.status is Status.QUEUED
            wish = self.expected.waiting[allocation.id]
            closed = frozenset[str]() if allocation in heads else kept
            assert self.expected.refusal(wish.tenant, wish.shape, wish.gpus, closed), (
                f"{allocation.id} fits and waits"
            )
        return kept

    @rule(wishes=wishes, replica=replicas, queue=rarely)
    def place(self, wishes: Wishes, replica: int, queue: bool) -> None:
        asks = self.ask(wishes, queue=queue)
        self.believe(wishes, self.do(self.committers[replica].commit(asks)))

    @rule(replica=replicas)
    def decide(self, replica: int) -> None:
        """A round for those who wait, as a nudge calls for it."""
        self.believe([], self.do(self.committers[replica].commit([])))

    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """No precondition: whether anyone waits may depend on who won a race."""
        if not self.expected.waiting:
            return
        id = sorted(self.expected.waiting)[pick % len(self.expected.waiting)]
        cancelled = self.run(lambda tx: release.release(tx, stage.ADMIN, id))
        assert (cancelled.status, cancelled.slot_ids) == (Status.RELEASED, ())
        del self.expected.waiting[id]

    @rule(one=wishes, other=wishes)
    def place_at_once(self, one: Wishes, other: Wishes) -> None:
        """Both replicas commit at the same time; if someone waits, both hold a round."""
        asks = self.ask(one), self.ask(other)

        async def race() -> list[Sequence[Outcome]]:
            pairs = zip(self.committers, asks, strict=True)
            return list(await asyncio.gather(*(c.commit(mine) for c, mine in pairs)))

        first, second = self.do(race())
        self.believe(one + other, [*first, *second], raced=True)

    @rule(wishes=wishes, replica=replicas, committed=st.booleans(), after=replicas, queue=rarely)
    def place_and_fail(
        self, wishes: Wishes, replica: int, committed: bool, after: int, queue: bool
    ) -> None:
        """A replica breaks just before or just after its commit; the request is made again."""
        point = commit.AFTER if committed else commit.BEFORE
        armed = self.place_of.points / point.name
        armed.write_text("fail")
        asks = self.ask(wishes, queue=queue)
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
        if ask.id in self.expected.leases or ask.id in self.expected.waiting:
            (outcome,) = self.do(self.committers[replica].commit([ask]))
            assert isinstance(outcome, Placed if ask.id in self.expected.leases else Queued)
            assert outcome.allocation.id == ask.id

    @rule(replica=replicas)
    def crash(self, replica: int) -> None:
        """A replica starts over, with no snapshot."""
        self.committers[replica] = Committer(self.stage.database)
