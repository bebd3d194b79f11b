"""Every operation that changes something leaves an entry: who, what, why, in which request, and
what was before. The OpenAPI document is the list of operations; a row may not be missing."""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import pytest

from penstock.central import app

from . import plane
from .plane import Answer, Central, Json, Tenant
from .test_repeated_posts import POSTS, Stage, filled, stage

__all__ = ["stage"]  # the fixture: a tenant with one of everything
pytestmark = pytest.mark.anyio

WHY: Final = "ticket 42: 100 % of it, größer"
PROPOSED: Final = "UPDATE slots SET approved_at = NULL, approved_by = NULL"
# Asks for something that a stand-in cannot easily be brought into; test_quarantine does.
ELSEWHERE: Final = {"POST /v1/slots/{slot}/cleanup"}


@dataclass(frozen=True)
class Change:
    caller: str = "platform"
    body: Json = field(default_factory=dict[str, object])
    query: str = ""
    first: str = ""  # as a superuser


OTHERS: Final = {
    "PUT /v1/tenants/{tenant}/placement": Change(body={"strategy": "spread"}),
    "PUT /v1/quotas": Change("admin", {"project": "main", "gpus_max": 7}),
    "DELETE /v1/quotas": Change("admin", query="?project=main"),
    "PUT /v1/templates/audited": Change(body={"strategy": "spread"}),
    "PATCH /v1/nodes/{node}": Change(body={"tags": ["eu"]}),
    "PATCH /v1/sites/{site}": Change(body={"tags": ["eu"]}),
    "PATCH /v1/users/{user}": Change("admin", {"role": "viewer"}),
    "DELETE /v1/groups/{group}/members/{account}": Change("admin"),
    "DELETE /v1/role-bindings/{binding}": Change("admin"),
    "DELETE /v1/groups/{group}": Change("admin"),
}
POSTED: Final = {
    f"POST {path}": Change(post.caller, post.body, first=PROPOSED if "approve" in path else "")
    for path, post in POSTS.items()
}
# What was there before is changed or gone afterwards.
CHANGING: Final = (
    "/disable", "/enable", "/revoke", "/reset", "/suspend", "/resume", "/drain", "/undrain",
    "/release", "/offboard", "/approve", "/network", "/retire", "/reject",
)  # fmt: skip
NO_BEFORE: Final = {
    "DELETE /v1/groups/{group}/members/{account}",  # they were in it: that is what it says
    "DELETE /v1/role-bindings/{binding}",  # the same
    "POST /v1/sessions/{session}/revoke",  # the same
}
ORDER: Final = [*POSTED, *OTHERS]


def _bare(operation: str) -> str:
    parts = ("{}" if part.startswith("{") else part for part in operation.split("/"))
    return "/".join(parts).replace("/templates/audited", "/templates/{}")


def test_every_operation_that_changes_something_has_a_row() -> None:
    paths: dict[str, Json] = app.create().openapi()["paths"]
    changing = {
        _bare(f"{verb.upper()} {path}")
        for path, verbs in paths.items()
        for verb in verbs
        if verb not in ("get", "head")
    }
    assert changing == {_bare(operation) for operation in ORDER}


@pytest.mark.parametrize("operation", [each for each in ORDER if each not in ELSEWHERE])
async def test_a_change_is_recorded_with_who_what_why_and_what_was(
    stage: Stage, operation: str
) -> None:
    change = {**POSTED, **OTHERS}[operation]
    if change.first:
        await plane.as_superuser(stage.central.settings.database_url, change.first)
    await _prepare(stage, operation)
    answer, entries = await _change(stage, operation, change)
    assert answer.status in (200, 201, 202), answer.raw
    me = (await stage.callers[change.caller].get("/v1/me")).json["id"]
    mine = [entry for entry in entries if entry["actor"].endswith(f":{me}")]
    assert mine, f"{operation} leaves nothing in the audit log"
    reasons = {entry["reason"] for entry in mine}
    assert reasons == {change.body.get("reason", WHY)}
    assert all(entry["subject"] and "." in entry["action"] for entry in mine)
    if _changes_what_was(operation):
        assert all("before" in entry["detail"] for entry in mine), mine


def _changes_what_was(operation: str) -> bool:
    if operation in NO_BEFORE:
        return False
    return not operation.startswith("POST") or operation.endswith(CHANGING)


async def _prepare(stage: Stage, operation: str) -> None:
    """What must be there to be changed."""
    path = operation.removeprefix("POST ")
    if path in POSTS and POSTS[path].after:
        api, body = stage.callers[POSTS[path].caller], filled(POSTS[path].body, stage)
        await api.post(POSTS[path].after.format(**stage.ids), **body)
    if operation == "POST /v1/slots/{slot}/approve":
        free = "SELECT id FROM slots WHERE id NOT IN (SELECT slot_id FROM claims) LIMIT 1"
        stage.ids["slot"] = await stage.central.value(free)
    if operation == "DELETE /v1/role-bindings/{binding}":
        made = await stage.callers["admin"].made(
            "/v1/role-bindings", subject=stage.ids["account"], role="viewer", project="main"
        )
        stage.ids["binding"] = made["id"]


async def _change(stage: Stage, operation: str, change: Change) -> tuple[Answer, list[Json]]:
    method, _, path = operation.partition(" ")
    correlation = f"audited-{ORDER.index(operation)}"
    answer = await stage.callers[change.caller].send(
        method,
        (path + change.query).format(**stage.ids),
        json=filled(change.body, stage) if method != "DELETE" else None,
        headers={"X-Reason": quote(WHY, safe=" :,"), "X-Correlation-Id": correlation},
    )
    sql = "SELECT * FROM audit_entries WHERE correlation_id = $1 ORDER BY seq"
    return answer, await stage.central.rows(sql, correlation)


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("plain ASCII: 3 nodes", "plain ASCII: 3 nodes"),
        ("100%25", "100%"),
        ("%C3%A9t%C3%A9", "été"),
        ("%20around%20", "around"),
    ],
)
async def test_a_reason_is_plain_ascii_or_percent_encoded(
    central: Central, given: str, recorded: str
) -> None:
    made = await central.platform.send(
        "POST", "/v1/tenants", json={"name": "acme"}, headers={"X-Reason": given}
    )
    assert made.status == 201
    reasons = "SELECT DISTINCT reason FROM audit_entries WHERE tenant_id = $1"
    assert await central.rows(reasons, made.json["id"]) == [{"reason": recorded}]


@pytest.mark.parametrize(
    "given",
    ["", "%20", "%", "100% sure", "%C3", "%0A", "%00", "%E2%80%AE", "%C2%9B", "x" * 501, b"\xe9"],
)
async def test_a_reason_that_cannot_be_read_is_refused_and_nothing_happens(
    central: Central, given: str | bytes
) -> None:
    refused = await central.platform.send(
        "POST", "/v1/tenants", json={"name": "acme"}, headers={b"X-Reason": given}
    )
    assert (refused.status, refused.code) == (422, "invalid")
    assert refused.json["detail"].startswith("X-Reason: ")
    assert await central.value("SELECT count(*) FROM tenants") == 0


async def test_a_reason_of_a_read_is_not_looked_at(central: Central) -> None:
    answer = await central.platform.send("GET", "/v1/tenants", headers={"X-Reason": "%"})
    assert answer.status == 200


async def test_the_reason_of_a_lease_is_kept_though_a_batch_decides_it(
    central: Central, tenant: Tenant, site: object
) -> None:
    body = {"project": "main", "sku": "h100.slice", "gpus": 1}
    await central.platform.put("/v1/quotas", tenant=tenant.id, gpus_max=1)
    for status in ("placed", "queued"):
        lease = await tenant.member.send(
            "POST",
            "/v1/allocations",
            json={**body, "queue": True},
            headers={"X-Reason": "training"},
        )
        assert (lease.status, lease.json["status"]) == (201, status)
        reason = "SELECT reason FROM audit_entries WHERE subject = $1"
        assert await central.value(reason, lease.json["id"]) == "training"
