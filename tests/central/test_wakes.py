"""Whatever can make room, or permit more, has those who wait looked at again by itself.

What cannot, does not: a SKU never changes; templates reach tenants by their policies; the
operator's rules are asked when a lease is asked for, and not again.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from . import stand_in_site
from .conftest import catalog
from .plane import Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

Call = tuple[str, str, Json]
POLICY = "/v1/tenants/{tenant}/placement"
NODE, SITE = "/v1/nodes/{node}", "/v1/sites/{site}"
DRAINED: Call = ("POST", f"{NODE}/drain", {"reason": "fans"})
UNDRAINED: Call = ("POST", f"{NODE}/undrain", {})
CREDITS = "/v1/tenants/{tenant}/credits"
CREDIT: Json = {"currency": "USD", "reason": "paid"}


@dataclass(frozen=True)
class Wait:
    """`before` it is asked for something is in the way, or comes `after`; `wakes` takes it away."""

    what: str
    before: tuple[Call, ...]
    wakes: Call
    asked: tuple[tuple[str, object], ...] = ()
    after: tuple[Call, ...] = ()


WAITS = (
    Wait(
        "a policy is widened",
        (("PUT", POLICY, {"sites": ["elsewhere"]}),),
        ("PUT", POLICY, {"sites": None}),
    ),
    Wait("a node is undrained", (DRAINED,), UNDRAINED),
    Wait(
        "a node is reserved no longer",
        (("PATCH", NODE, {"reserved_for": "{other}"}),),
        ("PATCH", NODE, {"reserved_for": None}),
    ),
    Wait(
        "a node gets a tag",
        (("PATCH", NODE, {"tags": ["gold"]}), DRAINED),
        ("PATCH", NODE, {"tags": ["gold"]}),
        asked=(("residency", ["gold"]),),
        after=(("PATCH", NODE, {"tags": []}), UNDRAINED),
    ),
    Wait(
        "a site gets a tag",
        (("PATCH", SITE, {"tags": ["gold"]}), DRAINED),
        ("PATCH", SITE, {"tags": ["gold"]}),
        asked=(("residency", ["gold"]),),
        after=(("PATCH", SITE, {"tags": []}), UNDRAINED),
    ),
    Wait(
        "a node becomes cheaper",
        (DRAINED,),
        ("PATCH", NODE, {"price_micros_per_gpu_hour": 4}),
        asked=(("price_micros_max", 5),),
        after=(("PATCH", NODE, {"price_micros_per_gpu_hour": 9}), UNDRAINED),
    ),
    Wait(
        "a tenant is resumed",
        (DRAINED,),
        ("POST", "/v1/tenants/{tenant}/resume", {"reason": "paid"}),
        after=(("POST", "/v1/tenants/{tenant}/suspend", {"reason": "unpaid"}), UNDRAINED),
    ),
    Wait(
        "a quota is raised",
        (DRAINED,),
        ("PUT", "/v1/quotas", {"tenant": "{tenant}", "gpus_max": 1}),
        after=(("PUT", "/v1/quotas", {"tenant": "{tenant}", "gpus_max": 0}), UNDRAINED),
    ),
    Wait(
        "a balance is topped up",
        (("POST", CREDITS, {**CREDIT, "amount_micros": 1}),),
        ("POST", CREDITS, {**CREDIT, "amount_micros": 10**9}),
    ),
)


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.what)
async def test_who_waits_is_placed_once(
    central: Central, site: StandInSite, tenant: Tenant, wait: Wait
) -> None:
    await central.platform.made("/v1/sites", name="elsewhere")
    other = await central.tenant("other")
    (node,) = site.nodes
    names = {"node": node, "site": site.id, "tenant": tenant.id, "other": other.id}

    async def call(one: Call) -> None:
        method, path, body = one
        filled = {k: v.format(**names) if isinstance(v, str) else v for k, v in body.items()}
        answer = await central.platform.send(method, path.format(**names), json=filled)
        assert answer.status in (200, 201, 202), answer.json

    for one in wait.before:
        await call(one)
    waiting = await lease(tenant, **dict(wait.asked))
    for one in wait.after:
        await call(one)
    assert (await tenant.viewer.get(f"/v1/allocations/{waiting['id']}")).json["status"] == "queued"
    await call(wait.wakes)
    await central.until(waiting["id"], "allocation.placed")
    assert await central.violations() == {}


async def lease(tenant: Tenant, **terms: object) -> Json:
    asked = {"project": "main", "sku": "h100.slice", "gpus": 1, "queue": True, **terms}
    made = await tenant.member.made("/v1/allocations", **asked)
    assert made["status"] == "queued"
    return made


async def test_who_waits_is_placed_once_slots_are_approved(
    central: Central, tenant: Tenant, tmp_path: Path
) -> None:
    async with stand_in_site.connected(
        central, tmp_path / "site", nodes=1, auto_approve=False
    ) as site:
        await catalog(central)
        waiting = await lease(tenant)
        assert waiting["estimate"]["waiting_for"] == "capacity"
        (node,) = site.nodes
        await central.platform.made(f"/v1/nodes/{node}/approve")
        await central.until(waiting["id"], "allocation.placed")


async def test_who_cannot_pay_is_told_that_it_waits_for_money(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    path = f"/v1/tenants/{tenant.id}/credits"
    await central.platform.made(path, **CREDIT, amount_micros=1)
    waiting = await lease(tenant)
    assert waiting["estimate"]["waiting_for"] == "balance"
    assert waiting["reason"] == "waits for money: its tenant's balance does not cover it"


async def test_a_balance_in_another_currency_is_not_waited_for(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    path = f"/v1/tenants/{tenant.id}/credits"
    await central.platform.made(path, amount_micros=10**9, currency="EUR", reason="paid")
    asked = {"project": "main", "sku": "h100.slice", "gpus": 1, "queue": True}
    refused = await tenant.member.post("/v1/allocations", **asked)
    assert (refused.status, refused.code) == (409, "currency_mismatch")
