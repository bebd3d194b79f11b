"""Small worlds for the backlog: nodes, leases that hold them, and rounds as time goes on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from penstock.placement import solver
from penstock.placement.line import backlog
from penstock.placement.line.waiting import Holdings, Lease, Limits, Round, Unlimited, Waiting, Why
from penstock.placement.model import Fleet, Node, Part, Plan, Request, Shape, Slot

START = datetime(2026, 1, 1, tzinfo=UTC)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def node(
    id: str, gpus: int = 4, *, family: str = "h100", blocked: str = "", site: str = "site"
) -> Node:
    slots = tuple(Slot(f"{id}.{n}", n, n % 2, True, True) for n in range(gpus))
    return Node(id, site, family, blocked, Slot(f"{id}.c", 0, 0, True, True), slots)


def slice_of(gpus: int, family: str = "h100", **overlay: object) -> Request:
    asked = Request(family, Shape.GPU_SLICE, gpus)
    return replace(asked, **overlay)  # pyright: ignore[reportArgumentType] # tests name any field


def metal(
    gpus: int = 4, family: str = "h100", nodes: int = 1, site_id: str | None = None
) -> Request:
    return Request(family, Shape.BAREMETAL, gpus, site_id, nodes)


def waits(
    id: str,
    request: Request,
    tenant: str = "a",
    *,
    priority: int = 50,
    at: float = 0,
    ends_by: float | None = None,
    stays: bool = True,
    apart: tuple[str, ...] = (),
) -> Waiting:
    by = None if ends_by is None else START + minutes(ends_by)
    queued_at = START + minutes(at)
    return Waiting(id, tenant, priority, queued_at, request, stays, ends_by=by, apart=apart)


class Noting:
    """Limits that note who is asked about, which is everyone at their turn."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.turns: list[str] = []

    def lacks(self, waiting: Waiting) -> Why | None:
        self.turns.append(waiting.id)
        return self.limits.lacks(waiting)

    def take(self, waiting: Waiting) -> None:
        self.limits.take(waiting)


@dataclass
class World:
    """A fleet with the leases in it and those that wait. Each round is a real one."""

    nodes: Iterable[Node]
    now: datetime = START
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    started: dict[str, datetime] = field(default_factory=dict[str, datetime])
    certain: bool = False  # every lease's end is known and kept
    turns: list[str] = field(default_factory=list[str])  # of the last round

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.nodes)

    def hold(
        self,
        id: str,
        request: Request,
        tenant: str = "x",
        *,
        ends: float | None = None,
        on: str | None = None,
    ) -> None:
        """A lease that was there before; on this node, if one is named."""
        where = request if on is None else only(request, list(self.nodes), [on])
        plan = solver.solve(where, self.fleet)
        assert isinstance(plan, Plan)
        self.fleet.take(plan)
        self.adopt(id, tenant, request, plan, None if ends is None else START + minutes(ends))

    def adopt(
        self, id: str, tenant: str, request: Request, plan: Plan, ends_at: datetime | None
    ) -> None:
        gpus = request.gpus * request.nodes
        self.leases[id] = Lease(id, tenant, gpus, plan.parts, ends_at)

    def end(self, id: str) -> None:
        for part in self.leases.pop(id).parts:
            self.fleet.free(part)

    def holdings(self) -> Holdings:
        held = Holdings()
        for lease in self.leases.values():
            held.add(lease.tenant, lease.gpus)
        return held

    def add(self, *waiting: Waiting) -> None:
        self.waiting.update({each.id: each for each in waiting})

    def round(self, limits: Limits | None = None) -> Round:
        known = tuple(lease for lease in self.leases.values() if lease.ends_at)
        noting = Noting(limits or Unlimited())
        decided = backlog.decide(
            list(self.waiting.values()), self.fleet, self.holdings(), now=self.now, leases=known,
            limits=noting,
        )  # fmt: skip
        self.turns = noting.turns
        for placed in decided.placed:
            each = self.waiting.pop(placed.waiting.id)
            self.started[each.id] = self.now
            by = each.ends_by if self.certain else None
            self.adopt(each.id, each.tenant, each.request, placed.plan, by)
        for stays in decided.staying:
            if stays.waiting.stays:
                kept = stays.kept.nodes if stays.kept else ()
                self.waiting[stays.waiting.id] = replace(stays.waiting, kept=kept)
            else:
                del self.waiting[stays.waiting.id]
        return decided

    def at(self, site: str) -> list[Node]:
        return [node for node in self.nodes if node.site_id == site]

    def placed(self) -> list[str]:
        return [each.waiting.id for each in self.round().placed]


def slots(parts: Iterable[Part]) -> list[str]:
    return [slot for part in parts for slot in part.slot_ids]


def ids(decided: Round) -> tuple[list[str], list[str]]:
    return [p.waiting.id for p in decided.placed], [s.waiting.id for s in decided.staying]


def only(request: Request, nodes: Sequence[Node], kept: Iterable[str]) -> Request:
    """The same request, if there were no other nodes than those kept."""
    return replace(request, apart_from=tuple({node.id for node in nodes} - set(kept)))
