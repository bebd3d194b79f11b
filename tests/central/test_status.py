"""A lease's status is computed twice, by the model and where lists are filtered: alike."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from penstock.central.allocations import store
from penstock.central.allocations.model import Allocation, Desired, Execution, Observed, Status
from penstock.central.allocations.wait import Wait
from penstock.kernel import db
from penstock.placement.model import Shape
from penstock_contracts.ids import (
    AllocationId,
    NodeId,
    OrganizationId,
    ProjectId,
    SiteId,
    SkuId,
    TenantId,
)

pytestmark = pytest.mark.anyio

AT = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = Allocation(
    AllocationId.new(), TenantId.new(), OrganizationId.new(), ProjectId.new(), SkuId.new(), "sku",
    Shape.GPU_SLICE, "h100", 1, 1, "USD", SiteId.new(), NodeId.new(), Desired.ACTIVE, AT, 1,
    Observed.NOTHING, None, "", Execution(), AT, "key", "id", "", None, None, (), "", AT, Wait(),
)  # fmt: skip


async def test_the_filter_and_the_model_agree_on_every_status(central_url: str) -> None:
    database = await db.connect(central_url, "central", size=1)
    ways = product(
        Desired, Observed, ("", "broke"), (None, AT), ("", "no proof"), (None, AT), (None, AT),
        (None, AT),
    )  # fmt: skip
    seen: set[str] = set()
    for desired, observed, failed, freed, blocked, placed, expired, abandoned in ways:
        lease = replace(
            LEASE, desired=desired, observed=observed, failed_reason=failed, freed_at=freed,
            blocked_reason=blocked, placed_at=placed, wait=Wait(expired_at=expired),
            abandoned_at=abandoned,
        )  # fmt: skip
        rows = await database.fetch(
            f"""
            SELECT {store.STATUS} AS status
            FROM (SELECT $1::text AS desired, $2::text AS observed, $3::text AS failed_reason,
                $4::timestamptz AS freed_at, $6::timestamptz AS placed_at,
                $7::timestamptz AS expired_at, $8::timestamptz AS abandoned_at) AS a,
                (SELECT $5::text AS blocked_reason) AS held
            """,
            desired, observed, failed, freed, blocked, placed, expired, abandoned,
        )  # fmt: skip
        assert rows[0]["status"] == lease.status
        seen.add(lease.status)
    assert seen == set(Status)
    await database.close()
