"""Denied calls are in the audit log: who, what, why; a flood of them is a few entries."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.denials import KINDS_MAX, Denials
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import TenantId

from . import plane
from .plane import Central, Json, Tenant
from .waiting import until

pytestmark = pytest.mark.anyio

DENIED: Final = "SELECT * FROM audit_entries WHERE action = 'access.denied' ORDER BY seq"


async def told(central: Central, count: int) -> list[Json]:
    """The denials, once so many calls were denied."""

    async def look() -> list[Json]:
        rows = await central.rows(DENIED)
        return rows if sum(row["detail"]["count"] for row in rows) >= count else []

    return await until(central.settings.database_url, "audit", look)


async def test_a_denied_change_and_a_denied_read_are_recorded_with_who_what_and_why(
    central: Central, tenant: Tenant
) -> None:
    refused = await tenant.viewer.send(
        "POST", "/v1/projects", json={"name": "x"}, headers={"X-Correlation-Id": "my-call"}
    )
    assert refused.status == 403
    assert (await tenant.member.get("/v1/nodes")).status == 403
    change, read = await told(central, 2)
    me = (await tenant.viewer.get("/v1/me")).json
    assert (change["actor"], change["tenant_id"]) == (f"key:{me['id']}", tenant.id)
    assert (change["subject"], change["correlation_id"]) == ("/v1/projects", "my-call")
    assert change["reason"] == "your role 'viewer' does not permit project.create"
    assert change["detail"] == {
        "call": "POST /v1/projects", "status": 403, "count": 1, "subjects": ["/v1/projects"],
    }  # fmt: skip
    assert read["detail"]["call"] == "GET /v1/nodes"
    assert await central.violations() == {}


async def test_a_change_of_what_may_not_be_seen_is_recorded_and_reading_it_is_not(
    central: Central, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    path = f"/v1/tenants/{other.id}"
    assert (await tenant.admin.get(path)).status == 404
    assert (await tenant.admin.get("/v1/nothing")).status == 404
    assert (await central.caller("pk_bad").post("/v1/tenants", name="x")).status == 401
    assert (await tenant.admin.post(f"{path}/keys", name="k", role="admin")).status == 404
    (entry,) = await told(central, 1)
    assert entry["tenant_id"] == tenant.id, "it is the asker's doing, and says nothing to the other"
    assert entry["detail"]["call"] == "POST /v1/tenants/{id}/keys"
    assert (entry["detail"]["status"], entry["subject"]) == (404, f"{path}/keys")


async def test_a_denied_lease_is_recorded_though_a_batch_decides_it(
    central: Central, tenant: Tenant
) -> None:
    ask = {"project": "main", "sku": "h100.slice", "gpus": 1}
    assert (await tenant.viewer.post("/v1/allocations", **ask)).status == 403
    (entry,) = await told(central, 1)
    assert entry["reason"] == "your role 'viewer' does not permit allocation.create"


async def test_a_flood_of_denials_becomes_a_few_entries_that_count(
    central: Central, tenant: Tenant
) -> None:
    calls = [tenant.viewer.post("/v1/projects", name="x") for _ in range(300)]
    assert {answer.status for answer in await asyncio.gather(*calls)} == {403}
    rows = await told(central, 300)
    assert sum(row["detail"]["count"] for row in rows) == 300
    assert len(rows) < 30


async def test_more_kinds_than_are_told_apart_are_counted_and_take_no_memory(
    central_database: Database, central_url: str
) -> None:
    denials = Denials(central_database, window_s=0)
    for number in range(KINDS_MAX + 70):
        actor = Actor("key", f"key_{number}", "viewer", TenantId("tenant_1"))
        denials.note(actor, "POST", "/v1/x", "/v1/x", Forbidden("no"), "c")
    assert len(denials._kinds) == KINDS_MAX  # pyright: ignore[reportPrivateUsage] its memory is the point
    writing = asyncio.create_task(denials.run())
    rows = await until(central_url, "audit", lambda: _denied(central_database))
    writing.cancel()
    assert len(rows) == KINDS_MAX + 1
    assert (rows[-1]["actor"], rows[-1]["detail"]["count"]) == ("system:central", 70)


async def test_what_was_gathered_is_written_when_central_stops(
    central_url: str, tmp_path: Path, central_database: Database
) -> None:
    async with plane.running(central_url, tmp_path / "central") as central:
        tenant = await central.tenant("acme")
        assert (await tenant.viewer.post("/v1/projects", name="x")).status == 403
    assert len(await _denied(central_database)) == 1


async def _denied(database: Database) -> list[Json]:
    async with database.transaction() as tx:
        return [dict(row) for row in await tx.fetch(DENIED)]
