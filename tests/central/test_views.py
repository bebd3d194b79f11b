"""What is written at once is what the view would say, whatever the lease."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import orjson
from hypothesis import given
from hypothesis import strategies as st

from penstock.central.allocations import gangs, views
from penstock.central.allocations.gangs import Lease
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed
from penstock.central.allocations.views import AllocationView
from penstock.central.allocations.wait import Estimate, Wait, WaitedFor
from penstock.kernel.actor import SYSTEM, Actor
from penstock.placement.model import Shape, WaitsFor
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    SiteId,
    SkuId,
    SlotId,
    TenantId,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINE, THEIRS = TenantId("tenant_a"), TenantId("tenant_b")
READERS = [SYSTEM, Actor("key", "k", "member", MINE)]


def at(microseconds: int, zone: timezone) -> datetime:
    return (NOW + timedelta(microseconds=microseconds)).astimezone(zone)


times = st.builds(
    at,
    st.sampled_from([0, 1, -1_000_000]) | st.integers(-(10**13), 10**13),
    st.sampled_from([UTC, timezone(timedelta(hours=2))]),
)
perhaps = st.none() | times
texts = st.sampled_from(["", "x", 'quotes " and é\n'])


@st.composite
def waits(draw: st.DrawFn) -> Wait:
    leases = tuple(WaitedFor(AllocationId(f"alloc_{t}"), t) for t in (MINE, THEIRS))
    estimate = Estimate(3, draw(perhaps), draw(st.sampled_from(WaitsFor)), leases)
    return replace(
        Wait(), priority=draw(st.integers(0, 100)), queued_at=draw(perhaps),
        expires_at=draw(perhaps), expired_at=draw(perhaps), ends_at=draw(perhaps),
        estimate=draw(st.sampled_from([None, estimate])),
    )  # fmt: skip


@st.composite
def leases(draw: st.DrawFn) -> Lease:
    """One of one node, or a gang of two."""
    one = draw(allocations())
    if draw(st.booleans()):
        return Lease(one)
    lead = replace(one, gang_id=one.id, nodes=2)
    other = replace(draw(allocations()), id=AllocationId("alloc_2"), gang_id=lead.id)
    return gangs.as_one([lead, other])


@st.composite
def allocations(draw: st.DrawFn) -> Allocation:
    placed = draw(st.booleans())
    execution = Execution(draw(texts), draw(texts), draw(texts), draw(texts), draw(perhaps))
    return Allocation(
        id=AllocationId("alloc_1"), tenant_id=MINE, organization_id=OrganizationId("org_1"),
        project_id=ProjectId("project_1"), sku_id=SkuId("sku_1"), sku_name="h100.slice",
        shape=draw(st.sampled_from(Shape)), family="h100", gpus=2,
        price_micros_per_gpu_hour=2_000_000, currency="USD",
        site_id=SiteId("site_1") if placed else None, node_id=NodeId("node_1") if placed else None,
        desired=draw(st.sampled_from(Desired)), desired_at=draw(times), revision=draw(
            st.integers(1, 9)), observed=draw(st.sampled_from(Observed)),
        observed_at=draw(perhaps), observed_reason=draw(texts), execution=execution,
        created_at=draw(times), created_by="key:k", correlation_id=draw(texts),
        failed_reason=draw(texts), freed_at=draw(perhaps), abandoned_at=draw(perhaps),
        slot_ids=(SlotId("slot_1"), SlotId("slot_2")) if placed else (), blocked_reason=draw(texts),
        placed_at=draw(times) if placed else None, wait=draw(waits()),
    )  # fmt: skip


@given(leases(), st.sampled_from(READERS))
def test_a_lease_is_written_as_its_view_is(lease: Lease, reader: Actor) -> None:
    view = AllocationView.of(lease, NOW, reader)
    written = views.as_json(lease, NOW, reader)
    assert orjson.loads(written) == orjson.loads(view.model_dump_json())
    assert list(orjson.loads(written)) == list(AllocationView.model_fields)
