"""Denied calls are in the audit log: who, what, why; a flood of them is a few entries."""

import asyncio
import re
from pathlib import Path
from typing import Final

import orjson
import pytest

from penstock.central import app
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database
from penstock.kernel.denials import KINDS_MAX, Denials
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import TenantId

from . import plane
from .plane import Central, Json, Tenant
from .realm_stage import Browser, Realm
from .roles_stage import bound
from .stand_in_site import StandInSite
from .waiting import until

pytestmark = pytest.mark.anyio

DENIED: Final = "SELECT * FROM audit_entries WHERE action = 'access.denied' ORDER BY seq"


async def told(central: Central, count: int) -> list[Json]:
    """The denials, once so many calls were denied."""

    async def look() -> list[Json]:
        rows = await central.rows(DENIED)
        return rows if sum(row["detail"]["count"] for row in rows) >= count else []

    return await until(central.settings.database_url, "audit", look)


async def failures(central: Central, action: str, count: int) -> list[Json]:
    """The entries with this action, once so much was counted; those of two seconds in one."""
    sql = "SELECT * FROM audit_entries WHERE action = $1 ORDER BY seq"

    async def look() -> list[Json]:
        rows = await central.rows(sql, action)
        return rows if sum(row["detail"]["count"] for row in rows) >= count else []

    together: dict[str, Json] = {}
    for row in await until(central.settings.database_url, "audit", look):
        first = together.setdefault(row["subject"], row)
        if first is not row:
            first["detail"]["count"] += row["detail"]["count"]
    return list(together.values())


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


async def test_probing_for_what_is_anothers_is_recorded_and_a_slip_is_not(
    central: Central, tenant: Tenant, site: StandInSite
) -> None:
    other = await central.tenant("other")
    theirs = [
        f"/v1/tenants/{other.id}", "/v1/tenants/other", f"/v1/projects/{other.project}",
        f"/v1/sites/{site.id}", "/v1/sites/site-a",
    ]  # fmt: skip
    absent = [
        f"/v1/tenants/{TenantId.new()}", "/v1/tenants/nobody", "/v1/projects/other", "/v1/nothing",
        f"/v1/projects/{other.id}",
    ]  # fmt: skip
    for path in (*absent, *theirs):
        assert (await tenant.admin.get(path)).status == 404, path
    rows = await told(central, len(theirs))
    assert {path for row in rows for path in row["detail"]["subjects"]} == set(theirs)
    assert {row["detail"]["status"] for row in rows} == {404}
    assert {row["tenant_id"] for row in rows} == {tenant.id}, "it says nothing to the other"


async def test_a_change_of_what_may_not_be_seen_is_recorded(
    central: Central, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    path = f"/v1/tenants/{other.id}"
    assert (await tenant.admin.post(f"{path}/keys", name="k", role="admin")).status == 404
    (entry,) = await told(central, 1)
    assert entry["tenant_id"] == tenant.id, "it is the asker's doing, and says nothing to the other"
    assert entry["detail"]["call"] == "POST /v1/tenants/{id}/keys"
    assert (entry["detail"]["status"], entry["subject"]) == (404, f"{path}/keys")


async def test_within_a_tenant_a_name_tells_nothing_and_who_tries_it_is_recorded(
    central: Central, tenant: Tenant
) -> None:
    await tenant.admin.made("/v1/organizations", name="secret")
    await tenant.admin.made("/v1/projects", name="hidden", organization="secret")
    confined = await bound(central, "robot", "viewer", tenant=tenant.id, project=tenant.project)
    paths = {
        "organization": "/v1/organizations/{}", "project": "/v1/projects/{}",
        "organization quota": "/v1/quotas?organization={}",
        "project quota": "/v1/quotas?project={}",
    }  # fmt: skip
    for noun, path in paths.items():
        name = "secret" if noun.startswith("organization") else "hidden"
        same = {"headers": {"X-Correlation-Id": "the-same"}}
        there = await confined.send("GET", path.format(name), **same)
        nothing = await confined.send("GET", path.format("nobody"), **same)
        assert (there.status, nothing.status) == (404, 404)
        assert there.raw == nothing.raw.replace(b"nobody", name.encode()), noun
    rows = await told(central, len(paths))
    assert sum(row["detail"]["count"] for row in rows) == len(paths), "the absent are none"


async def test_credentials_that_are_not_known_are_counted_by_address(
    central: Central,
) -> None:
    for token in ("pk_bad", "pk_worse", "a.b.c"):
        assert (await central.caller(token).post("/v1/tenants", name="x")).status == 401
    assert (await central.caller(None).get("/v1/tenants")).status == 401
    (entry,) = await failures(central, "credential.refused", 3)
    assert (entry["actor"], entry["tenant_id"]) == ("address:127.0.0.1", None)
    assert entry["detail"] == {"first": "POST /v1/tenants", "count": 3}
    assert b"pk_bad" not in orjson.dumps(entry, default=str)


async def test_logins_that_fail_are_recorded_before_the_lock_and_without_what_was_typed(
    central: Central, tenant: Tenant
) -> None:
    realm = Realm(central, tenant, "acme")
    await (await realm.join("ann@acme.example")).client.aclose()
    ann = (await realm.user("ann@acme.example"))["id"]
    stranger = Browser(central, "acme")
    for email in ("ann@acme.example", "ann@acme.example", "my-secret-password@acme.example"):
        page = await stranger.log_in(email, "my-secret-password")
        assert page.status == 401
    await stranger.client.aclose()
    known, unknown = await failures(central, "login.failed", 3)
    assert (known["actor"], known["subject"]) == ("address:127.0.0.1", ann)
    assert (known["tenant_id"], known["reason"]) == (tenant.id, "the password was wrong")
    assert known["detail"] == {"realm": "acme", "user": ann, "count": 2}
    assert (unknown["subject"], unknown["detail"]["user"]) == ("unknown", None)
    assert b"my-secret" not in orjson.dumps([known, unknown], default=str)
    assert {row["action"] for row in (await tenant.admin.get("/v1/audit")).items} >= {
        "login.failed"
    }


async def test_clients_that_cannot_prove_themselves_are_recorded_without_their_secret(
    central: Central, tenant: Tenant
) -> None:
    realm = Realm(central, tenant, "acme")
    client = await realm.client(grants=["client_credentials"], scopes=["read"], role="viewer")
    for id in (client["id"], "nobody"):
        answer = await realm.post("token", (id, "my-secret"), grant_type="client_credentials")
        assert answer.status_code == 401
    known, unknown = await failures(central, "client.refused", 2)
    assert (known["subject"], known["tenant_id"]) == (client["id"], tenant.id)
    assert known["detail"] == {"realm": "acme", "client": client["id"], "count": 1}
    assert (unknown["subject"], unknown["detail"]["client"]) == ("unknown", None)
    assert b"my-secret" not in orjson.dumps([known, unknown], default=str)


async def test_whatever_a_reader_may_be_told_is_not_found_can_be_looked_up(
    central: Central,
) -> None:
    """A noun that can be asked for by id must be one of `known_things`."""
    nouns = {row["noun"] for row in await central.rows("SELECT DISTINCT noun FROM known_things")}
    sql: str = await central.value("SELECT pg_get_viewdef('known_things')")
    listed = {part.partition("'")[0] for part in sql.split("'")[1:] if part}
    source = Path(app.__file__).parent
    found = re.compile(r'NotFound\("([a-z_]+)"')
    told = {noun for file in source.rglob("*.py") for noun in found.findall(file.read_text())}
    assert told - listed == {"realm", "actor", "sku"}, "public, only for admins, everyone's"
    assert nouns <= listed


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
    database: Database, central_url: str
) -> None:
    denials = Denials(database, window_s=0)
    for number in range(KINDS_MAX + 70):
        actor = Actor("key", f"key_{number}", "viewer", TenantId("tenant_1"))
        denials.note(actor, "POST", "/v1/x", "/v1/x", Forbidden("no"), "c")
    assert len(denials._kinds) == KINDS_MAX  # pyright: ignore[reportPrivateUsage] its memory is the point
    writing = asyncio.create_task(denials.run())
    rows = await until(central_url, "audit", lambda: _denied(database))
    writing.cancel()
    assert len(rows) == KINDS_MAX + 1
    assert (rows[-1]["actor"], rows[-1]["detail"]["count"]) == ("system:central", 70)


async def test_what_was_gathered_is_written_when_central_stops(
    central_url: str, tmp_path: Path, database: Database
) -> None:
    async with plane.running(central_url, tmp_path / "central") as central:
        tenant = await central.tenant("acme")
        assert (await tenant.viewer.post("/v1/projects", name="x")).status == 403
    assert len(await _denied(database)) == 1


async def _denied(database: Database) -> list[Json]:
    async with database.transaction() as tx:
        return [dict(row) for row in await tx.fetch(DENIED)]
