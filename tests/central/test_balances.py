"""Prepaid tenants: what is credited, what is debited, and who may still lease."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.central.balances.gate import Gate, Rate
from penstock.central.balances.model import Balance, amount
from penstock.kernel import db
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import TenantId

from .plane import Answer, Central, Json, Tenant
from .stand_in_site import StandInSite, now_us

LEASE: Final = {"project": "main", "sku": "h100.slice"}
HOURLY: Final = 3_600_000  # micros for a GPU and hour of the tests' SKUs: one a millisecond


async def credit(central: Central, tenant: Tenant, micros: int, currency: str = "USD") -> Answer:
    return await central.platform.post(
        f"/v1/tenants/{tenant.id}/credits", amount_micros=micros, currency=currency, reason="paid"
    )


async def balance(tenant: Tenant) -> Json:
    return (await tenant.viewer.get(f"/v1/tenants/{tenant.id}/balance")).json


async def lease(tenant: Tenant, gpus: int = 1) -> Answer:
    return await tenant.member.post("/v1/allocations", **LEASE, gpus=gpus)


async def run(central: Central, site: StandInSite, allocation: Json, *, since_us: int) -> None:
    """Active since then, and so placed by then."""
    await central.backdate(allocation["id"], db.from_us(since_us))
    await site.observe(await site.order(allocation), wire.OBSERVED_ACTIVE, at_us=since_us)


async def end(
    central: Central, site: StandInSite, tenant: Tenant, allocation: Json, *, until_us: int
) -> None:
    """Stopped then, and so asked to by then."""
    await tenant.member.made(f"/v1/allocations/{allocation['id']}/release")
    await central.backdate(allocation["id"], db.from_us(until_us))
    order = await site.order(allocation, revision=2)
    await site.observe(order, wire.OBSERVED_STOPPING, at_us=until_us)


@pytest.mark.anyio
async def test_who_was_never_credited_pays_afterwards_and_is_not_gated(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    shown = await balance(tenant)
    assert (shown["tenant"], shown["prepaid"], shown["balance_micros"]) == (tenant.id, False, None)
    made = (await lease(tenant, 4)).json
    await run(central, site, made, since_us=now_us() - 10**12)
    await end(central, site, tenant, made, until_us=now_us())
    assert (await balance(tenant))["prepaid"] is False
    assert (await lease(tenant, 1)).status == 201
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_credits_add_up_once_each_and_are_audited(central: Central, tenant: Tenant) -> None:
    path = f"/v1/tenants/{tenant.id}/credits"
    body = {"amount_micros": 5, "currency": "USD", "reason": "invoice 7"}
    first = await central.platform.post_once("k", path, **body)
    again = await central.platform.post_once("k", path, **body)
    assert first.status == again.status == 201
    assert first.json == again.json
    assert first.json["id"].startswith("credit_")
    assert (await credit(central, tenant, 2)).status == 201
    assert (await balance(tenant))["balance_micros"] == 7
    entries = await central.rows(
        "SELECT tenant_id, reason, detail FROM audit_entries WHERE action = 'balance.credit'"
    )
    assert [entry["tenant_id"] for entry in entries] == [tenant.id] * 2
    assert entries[0]["reason"] == "invoice 7"
    assert entries[0]["detail"] == {"amount_micros": 5, "currency": "USD"}
    other = await credit(central, tenant, 1, "EUR")
    assert (other.status, other.code) == (409, "currency_mismatch")
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_lease_needs_an_hour_of_itself_and_of_all_that_live(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await credit(central, tenant, 3 * HOURLY - 1)
    assert (await lease(tenant, 2)).status == 201
    shown = await balance(tenant)
    assert (shown["burn_micros_per_hour"], shown["accrued_micros"]) == (2 * HOURLY, 0)
    refused = await lease(tenant, 1)
    assert (refused.status, refused.code) == (402, "balance_too_low")
    said = {key: refused.json[key] for key in ("missing_micros", "needed_micros", "currency")}
    assert said == {"missing_micros": 1, "needed_micros": 3 * HOURLY, "currency": "USD"}
    assert "0.000001 is missing" in refused.json["detail"]
    await credit(central, tenant, 1)
    assert (await lease(tenant, 1)).status == 201
    assert (await lease(tenant, 1)).code == "balance_too_low"


@pytest.mark.anyio
async def test_running_usage_is_accrued_and_ended_usage_is_debited(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await credit(central, tenant, 10 * HOURLY)
    made = (await lease(tenant, 2)).json
    hour_us = 3_600_000_000
    start = now_us() - 3 * hour_us
    await run(central, site, made, since_us=start)
    shown = await balance(tenant)
    assert 6 * HOURLY <= shown["accrued_micros"] < 6 * HOURLY + HOURLY // 10
    assert shown["balance_micros"] == 10 * HOURLY, "nothing has ended yet"
    assert shown["available_micros"] == shown["balance_micros"] - shown["accrued_micros"]
    refused = await lease(tenant, 2)
    assert refused.code == "balance_too_low", "what was accrued is not there to be spent"
    await end(central, site, tenant, made, until_us=start + hour_us)
    shown = await balance(tenant)
    assert (shown["balance_micros"], shown["accrued_micros"]) == (8 * HOURLY, 0)
    assert (await balance(tenant))["burn_micros_per_hour"] == 0, "it is over, if not yet clean"
    assert (await lease(tenant, 4)).status == 201
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_debits_are_exactly_what_usage_says(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """Each segment is rounded down by itself, in /v1/usage and in the debit alike."""
    await credit(central, tenant, 10**9)
    start = now_us() - 10**10
    for length_us in (1, 333, 999, 1000, 1_000_001, 7_654_321_987):
        made = (await lease(tenant, 1)).json
        await run(central, site, made, since_us=start)
        await end(central, site, tenant, made, until_us=start + length_us)
    backwards = (await lease(tenant, 1)).json
    await run(central, site, backwards, since_us=start)
    await end(central, site, tenant, backwards, until_us=start - 5)
    usage = (await tenant.viewer.get("/v1/usage")).items
    assert len(usage) == 7
    costs = [segment["cost_micros"] for segment in usage]
    assert sorted(costs)[:5] == [0, 0, 0, 0, 1], "less than a micro-unit is nothing"
    assert (await balance(tenant))["balance_micros"] == 10**9 - sum(costs)
    debited = await central.value("SELECT sum(debited_micros)::bigint FROM usage_segments")
    assert debited == sum(costs)
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_balance_may_run_below_zero_and_then_nothing_new_is_placed(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await credit(central, tenant, HOURLY)
    made = (await lease(tenant, 1)).json
    await run(central, site, made, since_us=now_us() - 7_200_000_000)
    await end(central, site, tenant, made, until_us=now_us())
    assert -HOURLY * 1.01 < (await balance(tenant))["balance_micros"] <= -HOURLY * 0.99
    refused = await lease(tenant, 1)
    assert (refused.status, refused.code) == (402, "balance_too_low")
    assert refused.json["available_micros"] < 0
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_money_of_another_currency_pays_for_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await credit(central, tenant, 10**12, "EUR")
    refused = await lease(tenant, 1)
    assert (refused.status, refused.code) == (409, "currency_mismatch")
    said = (refused.json["balance_currency"], refused.json["sku_currency"])
    assert said == ("EUR", "USD")
    other = await central.tenant("other")
    assert (await lease(other, 1)).status == 201
    late = await credit(central, other, 10**12, "EUR")
    assert (late.status, late.code) == (409, "currency_mismatch"), "its leases are in USD"
    assert (await credit(central, other, 10**12)).status == 201


@pytest.mark.anyio
async def test_usage_that_began_before_the_first_credit_is_debited_when_it_ends(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    made = (await lease(tenant, 1)).json
    start = now_us() - 3_600_000_000
    await run(central, site, made, since_us=start)
    await credit(central, tenant, 5 * HOURLY)
    assert (await balance(tenant))["accrued_micros"] >= HOURLY
    await end(central, site, tenant, made, until_us=start + 1_800_000_000)
    assert (await balance(tenant))["balance_micros"] == 5 * HOURLY - HOURLY // 2


@pytest.mark.anyio
async def test_the_databases_cost_is_the_same_as_ours_for_any_numbers(central: Central) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    numbers = (0, 1, 2, 999, 3_599_999_999, 3_600_000_001, 10**12 - 1, 7 * 10**13 + 13)
    prices = (0, 1, 3, 999_999_999_989, 10**12)
    # Just below a whole unit, by the least there can be: what a division that rounds gets wrong.
    below = 3_600_000_000 * 10**4 - pow(999_999_999_989, -1, 3_600_000_000)
    for length_us in (*numbers, below):
        for price in prices:
            for gpus in (1, 3, 64):
                until = since + timedelta(microseconds=length_us)
                found = await central.value(
                    "SELECT cost_micros($1, $2, $3, $4)", since, until, gpus, price
                )
                assert found == length_us * gpus * price // 3_600_000_000
    assert await central.value("SELECT cost_micros(now(), now() - interval '1 h', 1, 1000)") == 0


TENANT: Final = TenantId("t")


@given(
    credited=st.integers(-(10**6), 10**6),
    accrued=st.integers(0, 10**6),
    burn=st.integers(0, 10**6),
    costs=st.lists(st.integers(0, 10**6), max_size=8),
)
def test_a_batch_never_passes_more_than_an_hour_of_what_is_available(
    credited: int, accrued: int, burn: int, costs: list[int]
) -> None:
    gate = Gate([Balance(TENANT, "USD", credited, accrued, burn)])
    given = burn
    for cost in costs:
        rate = Rate(TENANT, "USD", cost)
        refused = gate.refuse(rate)
        missing = given + cost - (credited - accrued)
        assert (refused is None) == (missing <= 0)
        if refused is None:
            gate.take(rate)
            given += cost
        else:
            assert refused.extras["missing_micros"] == missing


@pytest.mark.parametrize(
    ("micros", "shown"),
    [(0, "0.00"), (1, "0.000001"), (-1_500_000, "-1.50"), (12_345_600, "12.3456")],
)
def test_an_amount_is_told_exactly(micros: int, shown: str) -> None:
    assert amount(micros) == shown
