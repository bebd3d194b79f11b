"""Conditions by properties: what is narrower, and that no chain of grants sheds any."""

from dataclasses import dataclass, replace
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.central.access import conditions, handing
from penstock.central.access.authorization import Resource, permits
from penstock.kernel.actor import Actor, Conditions, Grant
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import TenantId

TENANT: Final = TenantId.new()
# Where roles are bound, the innermost last; the lease that is asked about is in all of them.
PLACES: Final = {"tenant": str(TENANT), "organization": "org_1", "project": "project_1"}
ADMINS: Final = {"tenant": "admin", "organization": "org_admin", "project": "project_admin"}
FAMILIES: Final = ("a100", "h100", "l40s")
TAGS: Final = ("eu", "us", "hall:2")


def some(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sets(st.sampled_from(values), min_size=1).map(lambda chosen: tuple(sorted(chosen)))


def as_conditions(chosen: dict[str, tuple[str, ...]]) -> Conditions:
    return tuple((kind, chosen[kind]) for kind in sorted(chosen))


hours = (
    st.tuples(st.integers(0, 23), st.integers(0, 24))
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: (str(pair[0]), str(pair[1])))
)
some_conditions = st.fixed_dictionaries(
    {},
    optional={
        "families": some(FAMILIES),
        "residency": some(TAGS),
        "hours": hours,
        "weekdays": some(tuple("1234567")),
        "second_factor": st.just(("required",)),
    },
).map(as_conditions)


@dataclass(frozen=True)
class Call:
    """A lease that somebody asks for, and when and how they do."""

    family: str
    tags: frozenset[str]
    hour: int
    weekday: int
    second_factor: bool

    def permitted(self, grants: frozenset[Grant]) -> bool:
        return permits(self.by(grants), "allocation.create", self.lease)

    def by(self, grants: frozenset[Grant]) -> Actor:
        return Actor(
            "user", "user_1", "none", TENANT, None, grants, self.second_factor, self.hour,
            self.weekday, "user_1",
        )  # fmt: skip

    @property
    def lease(self) -> Resource:
        return Resource(
            "project", "project_1", TENANT, "org_1", "project_1",
            family=self.family, residency=self.tags,
        )  # fmt: skip


calls = st.builds(
    Call,
    st.sampled_from(FAMILIES),
    st.frozensets(st.sampled_from(TAGS)),
    st.integers(0, 23),
    st.integers(1, 7),
    st.booleans(),
)


def grant(role: str, level: str, given: Conditions) -> Grant:
    return Grant(role, level, PLACES[level], given)


def test_two_roles_are_no_way_around_the_conditions_of_one() -> None:
    """Who may lease anything, and is an admin for one family, goes before others with that one."""
    mine = frozenset({
        grant("member", "project", ()), grant("admin", "tenant", (("families", ("a100",)),)),
    })  # fmt: skip
    for family, first in (("a100", True), ("h100", False)):
        call = Call(family, frozenset(), 12, 1, second_factor=False)
        assert call.permitted(mine)
        assert permits(call.by(mine), "allocation.prioritize", call.lease) is first


@given(some_conditions, some_conditions, st.lists(calls, min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_what_is_within_permits_no_call_that_the_other_does_not(
    inner: Conditions, outer: Conditions, asked: list[Call]
) -> None:
    narrow = frozenset({grant("member", "project", inner)})
    wide = frozenset({grant("member", "project", outer)})
    both = as_conditions({**dict(outer), **dict(inner)})
    assert conditions.within(inner, inner)
    assert conditions.within(inner, ())
    if set(dict(inner)).isdisjoint(dict(outer)):
        assert conditions.within(both, inner)
        assert conditions.within(both, outer)
    if conditions.within(inner, outer):
        assert all(call.permitted(wide) for call in asked if call.permitted(narrow))


@given(some_conditions, some_conditions)
@settings(max_examples=150, deadline=None)
def test_what_is_not_within_permits_some_call_that_the_other_does_not(
    inner: Conditions, outer: Conditions
) -> None:
    """So no grant is refused that gives nothing more."""

    def lets(given: Conditions, call: Call) -> bool:
        said = dict(given)
        begin, end = (int(hour) for hour in said.get("hours", ("0", "24")))
        late, early = call.hour >= begin, call.hour < end
        return (
            call.family in said.get("families", (call.family,))
            and ("residency" not in said or bool(call.tags.intersection(said["residency"])))
            and ((late and early) if begin < end else (late or early))
            and str(call.weekday) in said.get("weekdays", (str(call.weekday),))
            and (call.second_factor or "second_factor" not in said)
        )

    every = [
        Call(family, frozenset(tags), hour, weekday, factor)
        for family in (*FAMILIES, "another")
        for tags in ({"eu"}, {"us"}, {"hall:2"}, set[str]())
        for hour in range(24)
        for weekday in range(1, 8)
        for factor in (True, False)
    ]
    sheds = any(lets(inner, call) and not lets(outer, call) for call in every)
    assert conditions.within(inner, outer) is not sheds


@dataclass(frozen=True)
class Step:
    """Somebody gives somebody a role, or puts them into the group, at some moment."""

    giver: int
    taker: int  # 0 is a group
    level: str
    role: str
    conditions: Conditions
    keeps: bool  # the conditions of the giver's own role, too
    moment: Call
    joins: bool


steps = st.lists(
    st.builds(
        Step,
        st.integers(1, 3),
        st.integers(0, 3),
        st.sampled_from(tuple(PLACES)),
        st.sampled_from(("admin", "org_admin", "project_admin", "member")),
        some_conditions,
        st.booleans(),
        calls,
        st.booleans(),
    ),
    max_size=12,
)
roots = st.lists(
    st.tuples(st.sampled_from(tuple(PLACES)), some_conditions.filter(bool)), min_size=1, max_size=2
)


class Population:
    """Three people and a group. What they have is what real policies and the one rule let them."""

    def __init__(self, first: frozenset[Grant]) -> None:
        self.own: list[frozenset[Grant]] = [frozenset(), first, frozenset(), frozenset()]
        self.members: set[int] = set()

    def of(self, who: int) -> frozenset[Grant]:
        return self.own[who] | self.own[0] if who in self.members else self.own[who]

    def take(self, step: Step) -> None:
        giver = step.moment.by(self.of(step.giver))
        if step.joins:
            self._hand(giver, "group.add_member", Resource("group", "group_1", TENANT), self.own[0])
            self.members.add(step.taker)
            return
        kept = dict(next((g.conditions for g in giver.grants), ())) if step.keeps else {}
        new = grant(step.role, step.level, as_conditions({**dict(step.conditions), **kept}))
        place = replace(_place(step.level), role=step.role)
        self._hand(giver, "role.bind", place, frozenset({new}))
        self.own[step.taker] |= {new}

    @staticmethod
    def _hand(giver: Actor, action: str, resource: Resource, given: frozenset[Grant]) -> None:
        if not permits(giver, action, resource):
            raise Forbidden("no role permits it")
        handing.refuse_wider(giver, action, resource, given, handing.BOUND)


def _place(level: str) -> Resource:
    within = {"organization": "org_1"} if level != "tenant" else {}
    project = "project_1" if level == "project" else None
    return Resource(level, PLACES[level], TENANT, within.get("organization"), project)


@given(roots, steps, st.lists(calls, min_size=1, max_size=10))
@settings(max_examples=120, deadline=None)
def test_no_chain_of_grants_permits_what_the_first_givers_conditions_forbid(
    first: list[tuple[str, Conditions]], taken: list[Step], asked: list[Call]
) -> None:
    root = frozenset(grant(ADMINS[level], level, given) for level, given in first)
    people = Population(root)
    for step in taken:
        try:
            people.take(step)
        except Forbidden:
            continue
    for call in asked:
        if any(call.permitted(people.of(who)) for who in (1, 2, 3)):
            assert call.permitted(root)
