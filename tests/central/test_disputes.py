"""A site's clock is an input: what cannot be is refused, seen, and settled by an operator."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.kernel import db
from penstock_contracts import wire_pb2 as wire

from .plane import Answer, Central, Json, Tenant
from .stand_in_site import StandInSite, now_us

pytestmark = pytest.mark.anyio

HOUR_US = 3_600_000_000
YEARS_US = 10 * 365 * 24 * HOUR_US
HOURLY = 3_600_000  # what a GPU costs for an hour, in micro-units


async def leased(central: Central, site: StandInSite, tenant: Tenant) -> Json:
    """A lease of a prepaid tenant that was placed two hours ago."""
    await central.platform.made(
        f"/v1/tenants/{tenant.id}/credits", amount_micros=10**9, currency="USD", reason="paid"
    )
    made = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    await central.backdate(made["id"], hours_ago(2))
    await site.order(made)
    return made


async def released(central: Central, site: StandInSite, tenant: Tenant, made: Json) -> None:
    """Its release was asked for an hour ago."""
    await tenant.member.made(f"/v1/allocations/{made['id']}/release")
    await central.backdate(made["id"], hours_ago(1))
    await site.order(made, revision=2)


def hours_ago(hours: float) -> datetime:
    return datetime.now(UTC) - timedelta(hours=hours)


async def segment(tenant: Tenant) -> Json:
    (found,) = (await tenant.viewer.get("/v1/usage")).items
    return found


async def balance(tenant: Tenant) -> int:
    return (await tenant.viewer.get(f"/v1/tenants/{tenant.id}/balance")).json["balance_micros"]


async def dispute(tenant: Tenant) -> Json:
    (found,) = (await tenant.viewer.get("/v1/disputes", settled="false")).items
    return found


async def settle(central: Central, id: str, at: datetime | None = None) -> Answer:
    when = {"at": at.isoformat()} if at else {}
    return await central.platform.post(f"/v1/disputes/{id}/settle", reason="asked them", **when)


@pytest.mark.parametrize("off_us", [YEARS_US, 2 * 60_000_000, -YEARS_US, -2 * HOUR_US])
async def test_an_end_that_cannot_be_charges_no_more_than_was_asked_for(
    central: Central, site: StandInSite, tenant: Tenant, off_us: int
) -> None:
    """Ten years ahead charged a short lease for ten years; one in the past undid its usage."""
    made = await leased(central, site, tenant)
    await site.observe(
        await site.order(made), wire.OBSERVED_ACTIVE, at_us=now_us() - 3 * HOUR_US // 2
    )
    await released(central, site, tenant, made)
    asked = await site.order(made, revision=2)
    await site.observe(asked, wire.OBSERVED_STOPPING, at_us=now_us() + off_us)
    charged = await segment(tenant)
    assert 1700 < charged["seconds"] < 1900, "from active until its release was asked for"
    assert await balance(tenant) == 10**9 - charged["cost_micros"]
    found = await dispute(tenant)
    assert (found["allocation"], found["edge"]) == (made["id"], "end")
    assert "its site reported" in found["reason"]
    assert await central.violations() == {"dispute_open": 1}, "operators are told, and nothing else"
    timeline = (await tenant.member.get(f"/v1/allocations/{made['id']}/timeline")).items
    assert "usage.disputed" in [event["type"] for event in timeline]
    await site.clean(asked)
    assert (await tenant.member.get(f"/v1/allocations/{made['id']}")).json["status"] == "released"


@pytest.mark.parametrize("off_us", [YEARS_US, -YEARS_US, -3 * HOUR_US])
async def test_a_beginning_that_cannot_be_counts_from_when_central_knew(
    central: Central, site: StandInSite, tenant: Tenant, off_us: int
) -> None:
    made = await leased(central, site, tenant)
    before = now_us()
    await site.observe(await site.order(made), wire.OBSERVED_ACTIVE, at_us=before + off_us)
    begun = db.to_us(datetime.fromisoformat((await segment(tenant))["from"]))
    assert before <= begun <= now_us()
    assert (await dispute(tenant))["edge"] == "begin"
    assert await central.violations() == {"dispute_open": 1}


async def test_clocks_that_differ_a_little_are_no_dispute_and_gain_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    placed_us = db.to_us(hours_ago(2))
    await site.observe(await site.order(made), wire.OBSERVED_ACTIVE, at_us=placed_us - 30_000_000)
    begun = (await segment(tenant))["from"]
    placed = (await tenant.member.get(f"/v1/allocations/{made['id']}")).json["placed_at"]
    assert begun == placed, "not before it was placed"
    await tenant.member.made(f"/v1/allocations/{made['id']}/release")
    ahead = now_us() + 30_000_000
    await site.observe(await site.order(made, revision=2), wire.OBSERVED_STOPPING, at_us=ahead)
    ended = datetime.fromisoformat((await segment(tenant))["to"])
    assert db.to_us(ended) < ahead, "not after central knew"
    assert await central.violations() == {}


async def test_a_site_that_never_says_stopped_charges_nothing_after_the_cleanup(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    await site.observe(
        await site.order(made), wire.OBSERVED_ACTIVE, at_us=now_us() - 3 * HOUR_US // 2
    )
    await released(central, site, tenant, made)
    await site.clean(await site.order(made, revision=2))
    assert 1700 < (await segment(tenant))["seconds"] < 1900
    assert "never said when it stopped" in (await dispute(tenant))["reason"]
    assert (await dispute(tenant))["reported_at"] is None
    assert await central.violations() == {"dispute_open": 1}


async def test_what_was_freed_does_not_become_active(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    order = await site.order(made)
    await released(central, site, tenant, made)
    await site.clean(await site.order(made, revision=2))
    await site.observe(order, wire.OBSERVED_ACTIVE)
    assert (await tenant.viewer.get("/v1/usage")).items == []
    assert await central.violations() == {}


@pytest.mark.parametrize("state", [wire.OBSERVED_STOPPING, wire.OBSERVED_RELEASED])
async def test_a_site_cannot_end_what_nobody_released(
    central: Central, site: StandInSite, tenant: Tenant, state: "wire.Observed"
) -> None:
    made = await leased(central, site, tenant)
    order = await site.order(made)
    await site.observe(order, wire.OBSERVED_ACTIVE)
    await site.observe(order, state)
    assert (await segment(tenant))["to"] is None
    assert (await central.violations())["feed_rejections"] == 1
    order.revision = 9
    await site.observe(order, wire.OBSERVED_FAILED)
    assert (await tenant.member.get(f"/v1/allocations/{made['id']}")).json["status"] == "active"
    assert (await central.violations())["feed_rejections"] == 2


async def test_a_step_is_shown_within_the_leases_life(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    for at_us in (now_us() + YEARS_US, now_us() - YEARS_US):
        stepped = wire.Stepped(
            kind="lease", key=made["id"], revision=1, workflow="realize", step="provision",
            status=wire.STEP_STATUS_STARTED, at_us=at_us,
        )  # fmt: skip
        await site.report(wire.SiteReport(stepped=stepped))
        shown = (await tenant.member.get(f"/v1/allocations/{made['id']}")).json
        at = datetime.fromisoformat(shown["states"]["execution"]["at"])
        assert datetime.fromisoformat(shown["placed_at"]) <= at <= datetime.now(UTC)


async def test_settling_moves_the_usage_and_the_money_within_what_could_be(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    await site.observe(
        await site.order(made), wire.OBSERVED_ACTIVE, at_us=now_us() - 3 * HOUR_US // 2
    )
    await released(central, site, tenant, made)
    asked = await site.order(made, revision=2)
    await site.observe(asked, wire.OBSERVED_STOPPING, at_us=now_us() + YEARS_US)
    id = (await dispute(tenant))["id"]
    for impossible in (hours_ago(-1), hours_ago(1.5)):
        refused = await settle(central, id, impossible)
        assert (refused.status, refused.code) == (409, "time_impossible")
        assert refused.json["suggestion"]
    assert await central.violations() == {"dispute_open": 1}
    for hours, cost in ((0.5, HOURLY), (0.25, 5 * HOURLY // 4), (0.75, 3 * HOURLY // 4)):
        answer = await settle(central, id, hours_ago(hours))
        assert answer.status == 200, answer.json
        charged = await segment(tenant)
        assert abs(charged["cost_micros"] - cost) < HOURLY // 50
        assert await balance(tenant) == 10**9 - charged["cost_micros"]
        assert await central.violations() == {}
    shown = (await central.platform.get(f"/v1/disputes/{id}")).json
    assert (shown["settled_reason"], bool(shown["settled_at"])) == ("asked them", True)
    (entry,) = (await central.platform.get("/v1/audit", action="dispute.settle", limit=1)).items
    assert entry["subject"] == id


async def test_settling_without_a_time_keeps_what_counts(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    await site.observe(await site.order(made), wire.OBSERVED_ACTIVE, at_us=now_us() + YEARS_US)
    before = await segment(tenant)
    assert (await settle(central, (await dispute(tenant))["id"])).status == 200
    assert (await segment(tenant))["from"] == before["from"]
    assert await central.violations() == {}


async def test_a_beginning_can_be_settled_while_the_lease_runs(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = await leased(central, site, tenant)
    await site.observe(await site.order(made), wire.OBSERVED_ACTIVE, at_us=now_us() + YEARS_US)
    id = (await dispute(tenant))["id"]
    assert (await settle(central, id, hours_ago(1))).status == 200
    assert 3500 < (await segment(tenant))["seconds"] < 3700
    await released(central, site, tenant, made)
    asked = await site.order(made, revision=2)
    await site.observe(asked, wire.OBSERVED_STOPPING)
    assert await central.violations() == {}
    refused = await settle(central, id, hours_ago(0))
    assert (refused.status, refused.code) == (409, "time_impossible")
