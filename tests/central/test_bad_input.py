"""Whatever is sent, the answer is a problem+json with a stable code, and nothing changed."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from penstock.local.postgres import EmbeddedPostgres
from penstock_contracts.ids import AllocationId, ProjectId

from . import plane, stand_in_site
from .bad_input import fleet, http, leases, onboarding, quotas, tenancy
from .bad_input.requests import LEASE, Bad
from .conftest import catalog
from .plane import Api, Central, Tenant

pytestmark = pytest.mark.anyio
PARTS: Final = (
    http.CASES,
    leases.CASES,
    tenancy.CASES,
    quotas.CASES,
    fleet.CASES,
    onboarding.CASES,
)
CASES: Final = {name: bad for part in PARTS for name, bad in part.items()}


def test_no_case_hides_another() -> None:
    assert len(CASES) == sum(len(part) for part in PARTS)


@dataclass(frozen=True)
class Stage:
    central: Central
    tenant: Tenant

    def caller(self, name: str) -> Api:
        if name == "platform":
            return self.central.platform
        if name == "nobody":
            return self.central.caller(None)
        return self.tenant.apis[name]


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage, None]:
    """One central for all cases: since none may change anything, they cannot meet."""
    folder: Path = tmp_path_factory.mktemp("bad-input")
    server.create_database("bad_input", template=templates["central"])
    url = server.serving_url("central", "bad_input")
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=1),
    ):
        await catalog(central)
        yield Stage(central, await central.tenant("acme"))
    server.drop_database("bad_input")


async def census(central: Central) -> dict[str, int]:
    """How many rows each table has, and where the logs stand. (Sites take entries off their
    feeds when they get to it.)"""
    tables = await central.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    )
    others = ("schema_migrations", "feed_entries")
    names = [row["tablename"] for row in tables if row["tablename"] not in others]
    counts = {name: await central.value(f'SELECT count(*) FROM "{name}"') for name in names}
    # That somebody was denied something is told a little later.
    told = """SELECT count(*) FROM audit_entries
        WHERE action NOT IN ('access.denied', 'credential.refused')"""
    counts["audit_entries"] = await central.value(told)
    counts["heads"] = await central.value("SELECT sum(seq) FROM feed_heads")
    return counts


async def send(api: Api, bad: Bad) -> plane.Answer:
    arguments: dict[str, Any] = {"headers": {k: v.encode() for k, v in bad.headers.items()}}
    if bad.raw is not None:
        arguments["content"] = bad.raw
    elif bad.body is not None:
        arguments["json"] = bad.body
    return await api.send(bad.method, bad.path, **arguments)


@pytest.mark.parametrize("name", CASES)
async def test_it_is_refused_and_nothing_changed(stage: Stage, name: str) -> None:
    bad = CASES[name]
    before = await census(stage.central)
    answer = await send(stage.caller(bad.caller), bad)
    assert answer.status == bad.status, answer.raw
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert (problem["code"], problem["status"]) == (bad.code, bad.status)
    assert problem["type"] == f"urn:penstock:problem:{bad.code}"
    assert problem["detail"]
    assert problem["correlation_id"] == answer.headers["x-correlation-id"]
    assert await census(stage.central) == before


@pytest.mark.parametrize("path", ["/v1/projects", "/v1/allocations"])
@pytest.mark.parametrize(("body", "at"), [(b'{"name": oops}', 9), (b'{"name": ', 9), (b"", None)])
async def test_a_body_that_is_no_json_is_told_so_and_no_field_is_blamed(
    stage: Stage, path: str, body: bytes, at: int | None
) -> None:
    typed = {"Content-Type": "application/json"}
    answer = await stage.tenant.admin.send("POST", path, content=body, headers=typed)
    assert answer.status == 422
    assert {error["field"] for error in answer.json["errors"]} == {"body"}
    if at is not None:
        assert answer.json["detail"].startswith("the body cannot be read as JSON")
    if at is not None and path == "/v1/projects":
        assert answer.json["detail"] == f"the body cannot be read as JSON (at byte {at})"


async def test_text_and_names_of_any_script_are_kept_as_they_are(stage: Stage) -> None:
    central, tenant = stage.central, await stage.central.tenant("kept")
    for reason in ("größer, naïve", "东京", "सब ठीक", "🙂 ok", "tenant_1", "a\u00a0b"):
        credit = {"amount_micros": 1, "currency": "USD", "reason": reason}
        made = await central.platform.made(f"/v1/tenants/{tenant.id}/credits", **credit)
        assert made["reason"] == reason
    for name in ("tenant_1", "project_x", "other_" + "0" * 26):
        assert (await tenant.admin.made("/v1/projects", name=name))["name"] == name
    invited = await tenant.admin.made("/v1/users/invite", email="Ada+x%y_z@Acme.Example")
    assert invited["email"] == "ada+x%y_z@acme.example"


async def test_a_foreign_id_within_a_request_is_answered_as_an_absent_one(stage: Stage) -> None:
    """R18, in what is sent along (test_existence has every path)."""
    central, mine = stage.central, stage.tenant
    theirs = await central.tenant("globex")
    lease = await theirs.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    for body in ({"project": theirs.project}, {"project": str(ProjectId.new())}):
        answer = await mine.member.post("/v1/allocations", **{**LEASE, **body})
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.json["detail"] == f"there is no project {body['project']!r}"
    for id in (lease["id"], str(AllocationId.new())):
        answer = await mine.member.post("/v1/allocations", **LEASE, apart_from=[id])
        assert (answer.status, answer.code) == (422, "unknown_allocation")
        assert answer.json["detail"] == f"apart_from: there is no allocation {id!r}"
    unseen = (await mine.admin.get("/v1/allocations", project=theirs.project)).items
    assert unseen == []
    assert (await theirs.viewer.get(f"/v1/allocations/{lease['id']}")).json["desired"] == "active"


async def test_a_correlation_id_is_kept_if_it_is_plain_and_replaced_if_not(stage: Stage) -> None:
    kept = await stage.tenant.viewer.send("GET", "/v1/me", headers={"X-Correlation-Id": "mine-1"})
    assert kept.headers["x-correlation-id"] == "mine-1"
    for odd in ("a b", "x" * 65, "\u00e9"):
        headers = {"X-Correlation-Id": odd.encode()}
        answer = await stage.tenant.viewer.send("GET", "/v1/me", headers=headers)
        assert answer.status == 200
        assert answer.headers["x-correlation-id"] not in (odd, "")
