"""Central killed wherever a tenant comes or goes: it goes on as if nothing had happened."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from penstock_client.requests import Body, post
from penstock_client.resources import single

from . import checks, places, watching
from .platform import PROFILE, Platform

FORWARD: Final = [point for point in places.TENANTS if ".onboarding." in point and ".do." in point]
BACK: Final = [point for point in places.TENANTS if ".undo." in point]
LEAVING: Final = [point for point in places.TENANTS if ".offboarding." in point]
_numbers: Final = itertools.count(1)


def test_every_declared_place_is_killed_at_here() -> None:
    assert set(FORWARD) | set(BACK) | set(LEAVING) == set(places.TENANTS)
    assert (len(FORWARD), len(BACK), len(LEAVING)) == (14, 12, 2)


def new_file(platform: Platform) -> Body:
    """A tenant of a new name, and pools to take from."""
    there = {pool["name"] for pool in platform.client.pools.list()["items"]}
    for name, kind in (("vrfs", "vrf"), ("vlans", "vlan")):
        if name not in there:
            ask(platform, "pools", name=name, kind=kind, first=1, last=4094)
    return {
        "tenant": f"newcomer-{next(_numbers)}",
        "admin": {"email": "ada@acme.example"},
        "networks": [{"vlans": 2}],
        "quotas": [{"gpus_max": 8}],
        "organizations": [{"name": "research", "projects": [{"name": "llm"}]}],
    }


def ask(platform: Platform, *path: str, **body: object) -> dict[str, object]:
    request = post(*path, **body)
    return single.fetch(platform.client.transport, request, dict[str, object])


def survive(platform: Platform, point: str, *path: str, **body: object) -> dict[str, object]:
    """Ask while central dies at the place and is started again; what it answered in the end."""
    with ThreadPoolExecutor(1) as threads:  # central may die before it answers
        asked = threads.submit(ask, platform, *path, **body)
        platform.central.until_killed()
        platform.central_up.clear()
        assert platform.hit(point)
        platform.restart(platform.central)
        return asked.result()


def outcome(platform: Platform, id: object) -> tuple[str, list[str]]:
    """How it ended, and how each step did."""
    platform.until_central(
        "SELECT 1 FROM onboardings WHERE id = %s AND finished_at IS NOT NULL", id
    )
    seen = platform.client.onboardings.get(str(id))
    return seen["status"], [step["status"] for step in seen["steps"]]


def traces(platform: Platform, name: object) -> list[int]:
    """What is there of a tenant of that name, and of its onboarding."""
    ((*counts,),) = watching.rows(
        platform.central_url,
        """
        WITH mine AS (SELECT tenant_id AS id FROM onboardings WHERE name = %s)
        SELECT (SELECT count(*) FROM tenants JOIN mine USING (id)),
            (SELECT count(*) FROM realms WHERE tenant_id IN (SELECT id FROM mine)),
            (SELECT count(*) FROM invitations WHERE tenant_id IN (SELECT id FROM mine)),
            (SELECT count(*) FROM assignments WHERE tenant_id IN (SELECT id FROM mine)),
            (SELECT count(*) FROM quotas WHERE tenant_id IN (SELECT id FROM mine)),
            (SELECT count(*) FROM projects WHERE tenant_id IN (SELECT id FROM mine))
        """,
        name,
    )
    return [int(str(count)) for count in counts]


@pytest.mark.parametrize("point", FORWARD)
def test_an_onboarding_survives_a_kill_at(platform: Platform, point: str) -> None:
    file = new_file(platform)
    platform.arm(point, "kill")
    begun = survive(platform, point, "onboardings", **file)
    assert outcome(platform, begun["id"]) == ("done", ["done"] * 7)
    assert traces(platform, file["tenant"]) == [1, 1, 1, 3, 1, 1]
    checks.assert_nothing_is_violated(platform)


@pytest.mark.parametrize("point", BACK)
def test_an_onboarding_that_goes_back_survives_a_kill_at(platform: Platform, point: str) -> None:
    file = new_file(platform)
    platform.arm("central.onboarding.ready.do.after", "fail")
    platform.arm(point, "kill")
    begun = survive(platform, point, "onboardings", **file)
    assert outcome(platform, begun["id"]) == ("undone", [*["undone"] * 6, "failed"])
    assert traces(platform, file["tenant"]) == [0, 0, 0, 0, 0, 0]
    checks.assert_nothing_is_violated(platform)


@pytest.mark.parametrize("point", LEAVING)
def test_an_offboarding_survives_a_kill_at(platform: Platform, point: str) -> None:
    file = new_file(platform)
    begun = ask(platform, "onboardings", **file)
    assert outcome(platform, begun["id"])[0] == "done"
    name = str(file["tenant"])
    ((project,),) = watching.rows(
        platform.central_url,
        "SELECT p.id FROM projects p JOIN tenants t ON t.id = p.tenant_id WHERE t.name = %s",
        name,
    )
    leases = [
        platform.client.allocations.create(project=str(project), sku=PROFILE.slice_sku, gpus=1)[
            "id"
        ]
        for _ in range(2)
    ]
    for id in leases:
        platform.until_active(id)
    platform.arm(point, "kill")
    survive(platform, point, "tenants", name, "offboard", reason="left")
    platform.until_central("SELECT 1 FROM tenants WHERE name = %s AND status = 'offboarded'", name)
    for id in leases:
        checks.assert_released(platform, id)
    held = watching.rows(
        platform.central_url,
        "SELECT a.id FROM assignments a JOIN tenants t ON t.id = a.tenant_id"
        " WHERE t.name = %s AND a.returned_at IS NULL",
        name,
    )
    assert held == []
