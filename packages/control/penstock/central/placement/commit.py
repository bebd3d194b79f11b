"""The batch commit: one lock, one fleet, one transaction for everyone who waits.

Taking the fleet's lock is being the leader. Under it: bring the fleet up to date, check
quotas and balances, plan, insert allocations and claims in bulk, write the desired
documents, commit, answer. A unique violation means that the fleet was stale after all:
read again what was unsure and plan again. The commit is idempotent (ids are made before
it), so after a lost connection it is simply run again.

While somebody waits for room, or asks to, everyone's turn is decided together
(`backlog`); otherwise requests are planned as they came.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import asyncpg

from penstock.central import fleet
from penstock.central.access import keys
from penstock.central.allocations import waiting
from penstock.central.placement import (
    answers,
    backlog,
    departures,
    gangs,
    leases,
    line,
    receipts,
    wants,
)
from penstock.central.placement.answers import Decided, Unplaced
from penstock.central.placement.bindings import Bindings
from penstock.central.placement.departures import LONG_S, Departed
from penstock.central.placement.gates import Gates
from penstock.central.placement.known import Names, Standing
from penstock.central.placement.leeways import Leeways
from penstock.central.placement.queue import Ask, Outcome, Placed, Queued
from penstock.central.placement.snapshot import Snapshot
from penstock.central.placement.wants import Judge, Want
from penstock.central.placement.writing import Placement, Writer
from penstock.kernel import questions, shortages
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Problem, Unavailable
from penstock.kernel.questions import ask_all
from penstock.kernel.stalls import Stalls
from penstock.placement import solver
from penstock.placement.line import estimates
from penstock.placement.line.waiting import Lease
from penstock.placement.model import Fleet, Plan
from penstock_contracts.failpoints import Failpoint

T = TypeVar("T")
ATTEMPTS_MAX: Final = 3
FEW: Final = 32  # placements that one statement writes: two would cost more than they save
FIRST: Final = 8  # of more, those of the first one: the database need not wait long for it
TOGETHER: Final = 96  # of each one after it: what it takes must fit the buffer of a socket
BEFORE: Final = Failpoint("central.placement.before_commit")
AFTER: Final = Failpoint("central.placement.after_commit")


class Committer:
    """Commits one batch at a time: it has one fleet."""

    def __init__(self, database: Database, stalls: Stalls | None = None) -> None:
        self._database = database
        self._stalls = stalls or Stalls()
        self._snapshot = Snapshot(self._stalls)
        self._bindings = Bindings()

    async def commit(self, asks: Sequence[Ask]) -> list[Outcome]:
        """Decide these, and those who wait for room; without any, only those."""
        tries = itertools.count()
        for _ in range(ATTEMPTS_MAX):
            try:
                outcomes = await self._database.run(
                    lambda tx: self._place(tx, asks, again=next(tries) > 0),
                    lock=fleet.LOCK,
                    unless=shortages.LASTING,  # who asked is told at once
                )
            except (asyncpg.UniqueViolationError, Departed):
                continue
            AFTER.hit()
            return await self._explain(outcomes, self._snapshot.settle())
        unavailable = Unavailable("the fleet changes too quickly; try again")
        if not asks:
            raise unavailable  # nobody asked, so nobody would read the answer
        return [unavailable] * len(asks)

    async def follow(self) -> None:
        """Learn what happened since the last batch, so that the next one need not: it would keep
        everyone waiting. Not during a batch."""
        async with self._database.look() as tx:
            news = await questions.ask(tx, self._snapshot.news())
            await self._snapshot.borrow(tx, news)
        self._snapshot.settle()

    async def _explain(self, decided: list[Decided], current: Fleet) -> list[Outcome]:
        """Without the lock: what is said of the future need not be of this very moment."""
        refused = answers.refused(decided)
        if not refused:
            return [one for one in decided if not isinstance(one, Unplaced)]
        near = estimates.near_nodes(answers.hopeful(decided), current)
        leeways, leases_near = await self._database.run(lambda tx: _around(tx, refused, near))
        return answers.explained(decided, current, leeways, leases_near)

    async def _place(self, tx: Tx, asks: Sequence[Ask], *, again: bool) -> list[Decided]:
        began_s = self._stalls.now_s()
        same = answers.twins(asks)
        fresh = [ask for ask in asks if ask.id not in same]
        news, used, in_line = self._snapshot.news(), answers.used_keys(fresh), waiting.ids(tx)
        names, holding = Names(fresh), keys.holding({a.credential for a in fresh if a.credential})
        await ask_all(tx, [news, used, in_line, holding, *names.questions])
        current = await self._snapshot.borrow(tx, news.answer)
        self._bindings.forget()
        outcomes: dict[str, Decided] = {}
        fresh = answers.by_holders(fresh, keys.holders(holding.answer, tx.now), outcomes)
        outcomes.update(await answers.given_before(tx, fresh, used.answer, again=again))
        undecided = [ask for ask in fresh if ask.id not in outcomes]
        outcomes.update(departures.outcomes(undecided, self._stalls))
        new = [ask for ask in fresh if ask.id not in outcomes]
        if new or not asks:
            waited = await line.load(tx, in_line.answer)
            await self._decide(tx, new, names, waited, current, outcomes)
            await answers.remember(tx, new, outcomes)
            BEFORE.hit()
        if self._stalls.now_s() - began_s > LONG_S and departures.departed(new, self._stalls):
            raise Departed
        return [outcomes[same.get(ask.id, ask.id)] for ask in asks]

    async def _decide(
        self,
        tx: Tx,
        asks: list[Ask],
        names: Names,
        waited: list[Want],
        current: Fleet,
        outcomes: dict[str, Decided],
    ) -> None:
        found = names.projects.answer
        standing = Standing(found)
        projects = [*found, *(want.project for want in waited)]
        gates = await Gates.load(tx, projects, besides=standing.questions)
        judge = await wants.judge_of(tx, asks, names, standing, current)
        async with Writer(tx, self._bindings) as writer:
            if waited or any(ask.queue for ask in asks):
                wanted = _wanted(asks, judge, outcomes)
                await self._by_turn(tx, current, gates, wanted, waited, outcomes, writer)
            else:
                await self._as_they_came(tx, current, gates, asks, judge, outcomes, writer)

    async def _as_they_came(
        self,
        tx: Tx,
        current: Fleet,
        gates: Gates,
        asks: list[Ask],
        judge: Judge,
        outcomes: dict[str, Decided],
        writer: Writer,
    ) -> None:
        """Plan a few, and plan the next while the database writes these."""
        for some, more in _few(asks):
            placed: list[Placement] = []
            for want in _wanted(some, judge, outcomes):
                outcome = self._plan(tx, want, current, gates)
                if isinstance(outcome, list):
                    placed += outcome
                    outcomes[want.ask.id] = _answer(tx, outcome[0])
                else:
                    outcomes[want.ask.id] = outcome
            await writer.put(placed, more=more)

    async def _by_turn(
        self,
        tx: Tx,
        current: Fleet,
        gates: Gates,
        wanted: list[Want],
        waited: list[Want],
        outcomes: dict[str, Decided],
        writer: Writer,
    ) -> None:
        """Those who ask and those who wait, together; the answers of those who asked."""
        self._snapshot.doubt()  # a round takes before it says what
        decided = await backlog.decide(tx, current, gates, wanted, waited)
        outcomes.update(decided.refused)
        outcomes.update({a.id: Queued(a, tx.now) for a in decided.queued})
        placed: list[Placement] = []
        for want, plan in decided.placed:
            made = self._placements(tx, want, plan, _receipt(want, plan, current))
            placed += made
            outcomes[want.ask.id] = _answer(tx, made[0])
        for some, more in _few(placed):
            await writer.put(some, more=more)

    def _plan(
        self, tx: Tx, want: Want, current: Fleet, gates: Gates
    ) -> list[Placement] | Unplaced | Problem:
        refusal = gates.refuse(want)
        if refusal is not None:
            return refusal
        plan = solver.solve(want.request, current)
        if not isinstance(plan, Plan):
            return Unplaced(want, plan)
        receipt = _receipt(want, plan, current)
        current.take(plan)
        gates.take(want)
        return self._placements(tx, want, plan, receipt)

    def _placements(self, tx: Tx, want: Want, plan: Plan, receipt: str) -> list[Placement]:
        """One for each node, in the plan's order: each has a line of the log, and its fence."""
        if len(plan.parts) == 1:
            revision = self._snapshot.take(plan.node_ids)
            return [Placement(want, leases.placed(tx, want, plan), plan, revision, receipt)]
        made = [
            Placement(own, member, one, self._snapshot.take(one.node_ids), receipt)
            for own, member, one in gangs.members(tx, want, plan)
        ]
        made[0] = replace(made[0], gang=tuple(one.allocation for one in made))
        return made


async def _around(tx: Tx, refused: list[Want], near: list[str]) -> tuple[Leeways, list[Lease]]:
    """What an explanation speaks of, besides the fleet."""
    return await Leeways.load(tx, refused), await waiting.leases_on(tx, near) if near else []


def _wanted(asks: Iterable[Ask], judge: Judge, outcomes: dict[str, Decided]) -> list[Want]:
    """What may be wanted; the rest is refused."""
    wanted: list[Want] = []
    for ask in asks:
        judged = judge.judge(ask)
        if isinstance(judged, Problem):
            outcomes[ask.id] = judged
        else:
            wanted.append(judged)
    return wanted


def _answer(tx: Tx, lead: Placement) -> Placed:
    return Placed(lead.allocation, tx.now, members=lead.gang)


def _receipt(want: Want, plan: Plan, current: Fleet) -> str:
    return receipts.keep(
        want.request, plan, policy_revision=want.policy_revision, revision=current.revision
    )


def _few(many: list[T]) -> Iterable[tuple[list[T], bool]]:
    """Some at a time, and whether there are more."""
    first = FIRST if len(many) > FEW else len(many)
    ends = [*range(first, len(many), TOGETHER), len(many)]
    return ((many[begin:end], end < len(many)) for begin, end in itertools.pairwise([0, *ends]))
