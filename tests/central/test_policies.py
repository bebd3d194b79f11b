"""The policies themselves: conditions of bindings, scopes, and what the hierarchy means. Pure."""

import itertools
from dataclasses import replace

import pytest

from penstock.central.access import authorization
from penstock.central.access.authorization import IN_FORCE, Resource
from penstock.central.access.roles import LEVELS, PLATFORM, Level, Role
from penstock.kernel.actor import NO_ROLE, Actor, Conditions, Grant
from penstock_contracts.ids import TenantId

TENANT = TenantId("tenant_a")
PLACES = {
    Level.PLATFORM: PLATFORM, Level.SITE: "site_a", Level.TENANT: TENANT,
    Level.ORGANIZATION: "org_a", Level.PROJECT: "project_a",
}  # fmt: skip
PROJECT = Resource("project", "project_a", TENANT, "org_a", "project_a", family="h100")


def member(conditions: Conditions = (), *more: Grant) -> Actor:
    bound = Grant("member", Level.PROJECT, "project_a", conditions)
    return Actor("user", "user_a", NO_ROLE, TENANT, grants=frozenset({bound, *more}))


def may(actor: Actor, action: str = "allocation.create", about: Resource = PROJECT) -> bool:
    return IN_FORCE.policies.permit(actor, action, about)


def test_a_binding_to_families_leases_those_and_releases_any() -> None:
    actor = member((("families", ("a100", "h100")),))
    assert may(actor)
    other = replace(PROJECT, family="b200")
    assert not may(actor, about=other)
    assert may(actor, "allocation.release", other)
    assert may(actor, "project.view", other)


def test_a_binding_to_residency_leases_only_where_it_is_certain() -> None:
    actor = member((("residency", ("eu",)),))
    assert may(actor, about=replace(PROJECT, residency=frozenset({"eu", "country:de"})))
    assert not may(actor, about=replace(PROJECT, residency=frozenset({"us"})))
    assert not may(actor, about=replace(PROJECT, residency=frozenset()))


@pytest.mark.parametrize(
    ("hours", "inside"),
    [
        (("8", "18"), range(8, 18)),
        (("22", "6"), [*range(6), 22, 23]),
        (("0", "24"), range(24)),
    ],
)  # fmt: skip
def test_a_binding_counts_in_its_hours(hours: tuple[str, str], inside: range) -> None:
    actor = member((("hours", hours),))
    assert [hour for hour in range(24) if may(replace(actor, hour=hour))] == sorted(inside)


def test_a_binding_counts_on_its_weekdays() -> None:
    actor = member((("weekdays", ("1", "5")),))
    assert [day for day in range(1, 8) if may(replace(actor, weekday=day))] == [1, 5]


def test_a_binding_may_need_a_second_factor() -> None:
    actor = member((("second_factor", ("required",)),))
    assert not may(actor)
    assert not may(actor, "project.view")
    assert may(replace(actor, second_factor=True))


def test_a_condition_limits_its_own_binding_and_no_other() -> None:
    strict: Conditions = (("families", ("a100",)),)
    assert not may(member(strict))
    plain = Grant("member", Level.ORGANIZATION, "org_a")
    assert may(member(strict, plain))
    wider = Grant("member", Level.ORGANIZATION, "org_a", (("families", ("h100",)),))
    assert may(member(strict, wider))
    elsewhere = Grant("member", Level.ORGANIZATION, "org_b", (("families", ("h100",)),))
    assert not may(member(strict, elsewhere))


def test_a_role_reaches_what_is_in_its_place_and_nothing_else() -> None:
    inside = {
        Level.PLATFORM: [Resource("x"), PROJECT, Resource("x", site_id="site_a")],
        Level.TENANT: [PROJECT, Resource("x", None, TENANT)],
        Level.ORGANIZATION: [PROJECT, Resource("x", None, TENANT, "org_a")],
        Level.PROJECT: [PROJECT],
        Level.SITE: [Resource("x", site_id="site_a")],
    }
    outside = [
        Resource("x", None, TenantId("tenant_b"), "org_b", "project_b"),
        Resource("x", site_id="site_b"),
    ]
    for role, levels in LEVELS.items():
        for level in levels:
            tenant = None if level in (Level.PLATFORM, Level.SITE) else TENANT
            grant = Grant(role, level, PLACES[level])
            actor = Actor("key", "key_a", NO_ROLE, tenant, grants=frozenset({grant}))
            everything = sorted(authorization.ACTIONS)
            assert any(may(actor, a, r) for a, r in itertools.product(everything, inside[level]))
            if level is not Level.PLATFORM:
                for action, about in itertools.product(everything, outside):
                    permitted = IN_FORCE.policies.decide(actor, action, about)
                    own = {
                        "everyone-sees-what-is-their-own",
                        "everyone-makes-keys-of-their-own",
                        "everyone-ends-what-is-their-own",
                        "who-leases-sees-the-catalog",
                    }
                    assert not permitted.allowed or set(permitted.policies) <= own, (role, action)


def test_an_auditor_changes_nothing() -> None:
    auditor = Grant(Role.PLATFORM_AUDITOR, Level.PLATFORM, PLATFORM)
    actor = Actor("key", "key_a", NO_ROLE, grants=frozenset({auditor}))
    allowed = {action for action in authorization.ACTIONS if may(actor, action)}
    reading = ("view", "list", "oversee", "explain", "verify")
    changing = {action for action in allowed if action.partition(".")[2] not in reading}
    # Which only people have.
    assert changing == {
        "key.create_own", "key.revoke_own", "key.revoke_self", "session.revoke_own"
    }  # fmt: skip
    assert {a for a in authorization.ACTIONS if a.endswith(".view")} <= allowed
