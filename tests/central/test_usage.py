"""Metering from observed transitions: exact, never negative, in whole micro-units."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.central.usage import service
from penstock.central.usage.model import Segment
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import AllocationId, ProjectId, SkuId, TenantId

from .plane import Central, Json, Tenant
from .stand_in_site import StandInSite

START_US = 1_700_000_000_000_000
START = datetime.fromtimestamp(START_US / 1e6, UTC)


async def usage_of(tenant: Tenant, order: wire.DesiredAllocation) -> list[Json]:
    return (await tenant.viewer.get("/v1/usage", allocation=order.allocation_id)).items


async def placed(site: StandInSite, tenant: Tenant, gpus: int = 2) -> wire.DesiredAllocation:
    made = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=gpus)
    return await site.order(made)


@pytest.mark.anyio
async def test_a_segment_is_exactly_from_active_to_stopping(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await placed(site, tenant)
    await central.backdate(order.allocation_id, START)
    await site.observe(order, wire.OBSERVED_ACTIVE, at_us=START_US)
    (open_segment,) = await usage_of(tenant, order)
    assert open_segment["to"] is None
    assert open_segment["seconds"] > 0
    await tenant.member.made(f"/v1/allocations/{order.allocation_id}/release")
    await central.backdate(order.allocation_id, START)
    asked = await site.order(order.allocation_id, revision=2)
    await site.observe(asked, wire.OBSERVED_STOPPING, at_us=START_US + 90_000_001)
    await site.observe(asked, wire.OBSERVED_RELEASED, at_us=START_US + 200_000_000)
    await site.clean(asked)
    (segment,) = await usage_of(tenant, order)
    assert segment["seconds"] == 90.000001
    assert segment["gpus"] == 2
    # 90.000001 s × 2 GPUs × 3.6 units/h is 180000.002 micro-units; the fraction is dropped.
    assert segment["cost_micros"] == 180_000
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_what_was_never_active_costs_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await placed(site, tenant)
    await tenant.member.made(f"/v1/allocations/{order.allocation_id}/release")
    asked = await site.order(order.allocation_id, revision=2)
    await site.observe(asked, wire.OBSERVED_STOPPING)
    await site.observe(asked, wire.OBSERVED_ACTIVE)  # too late to begin
    await site.clean(asked)
    assert await usage_of(tenant, order) == []
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_clock_that_goes_backwards_a_little_bills_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await placed(site, tenant)
    await central.backdate(order.allocation_id, START)
    await site.observe(order, wire.OBSERVED_ACTIVE, at_us=START_US)
    await site.observe(order, wire.OBSERVED_FAILED, at_us=START_US - 5_000_000, reason="died")
    (segment,) = await usage_of(tenant, order)
    assert (segment["seconds"], segment["cost_micros"]) == (0.000001, 0), "usage is never undone"
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_failed_lease_is_metered_until_it_failed(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await placed(site, tenant)
    await central.backdate(order.allocation_id, START)
    await site.observe(order, wire.OBSERVED_ACTIVE, at_us=START_US)
    await site.observe(order, wire.OBSERVED_FAILED, at_us=START_US + 1_000_000, reason="died")
    (segment,) = await usage_of(tenant, order)
    assert segment["seconds"] == 1.0
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_tenant_sees_only_its_own_usage(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await placed(site, tenant)
    await site.observe(order, wire.OBSERVED_ACTIVE)
    other = await central.tenant("other")
    assert (await other.admin.get("/v1/usage")).items == []
    assert await usage_of(other, order) == []
    assert len((await central.platform.get("/v1/usage")).items) == 1


@given(
    parts=st.lists(st.integers(0, 10**12), min_size=1, max_size=5),
    gpus=st.integers(1, 1024),
    price=st.integers(0, 10**12),
)
def test_cost_is_integer_and_splitting_time_never_adds_to_it(
    parts: list[int], gpus: int, price: int
) -> None:
    def cost(length_us: int) -> int:
        since = datetime(2026, 1, 1, tzinfo=UTC)
        segment = Segment(
            allocation_id=AllocationId("a"), tenant_id=TenantId("t"), project_id=ProjectId("p"),
            sku_id=SkuId("s"), sku_name="s", gpus=gpus, price_micros_per_gpu_hour=price,
            currency="USD", since=since, to=since + timedelta(microseconds=length_us),
        )  # fmt: skip
        return service.cost_micros(segment, since)

    whole = cost(sum(parts))
    assert whole == sum(parts) * gpus * price // 3_600_000_000
    assert 0 <= whole - sum(cost(part) for part in parts) < len(parts)
