"""Every operation × every role. The OpenAPI document is the list; a row may not be missing."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from penstock.central import app
from penstock.local.postgres import EmbeddedPostgres

from . import plane, realm_stage, stand_in_site
from .conftest import catalog
from .plane import Central, Json, Tenant

pytestmark = pytest.mark.anyio

ROLES = ("nobody", "stranger", "viewer", "member", "admin", "platform")


@dataclass(frozen=True)
class Row:
    """What each role is answered: the status, in the order of ROLES."""

    expected: tuple[int, int, int, int, int, int]
    body: Json | None = None
    query: str = ""


# What is the tenant's own: a stranger is told that it does not exist.
OWN = (401, 404, 200, 200, 200, 200)
# A list shows each what is its own.
LIST = (401, 200, 200, 200, 200, 200)
# The tenant's own, changed by those who administer it.
ADMINISTERED = (401, 404, 403, 403, 200, 200)
ADMINISTERED_NEW = (401, 404, 403, 403, 201, 201)
# The platform's collections, and things in them.
PLATFORM_LIST = (401, 403, 403, 403, 403, 200)
PLATFORM_THING = (401, 404, 404, 404, 404, 200)

TABLE: dict[str, Row] = {
    "GET /v1/me": Row(LIST),
    "GET /v1/tenants": Row(LIST),
    "POST /v1/tenants": Row((401, 403, 403, 403, 403, 201), {"name": "new-tenant"}),
    "GET /v1/tenants/{tenant}": Row(OWN),
    "GET /v1/tenants/{tenant}/placement": Row(OWN),
    "PUT /v1/tenants/{tenant}/placement": Row(
        (401, 404, 403, 403, 403, 200), {"strategy": "spread"}
    ),
    "POST /v1/tenants/{tenant}/keys": Row(
        (401, 404, 403, 403, 201, 201), {"name": "k", "role": "viewer"}
    ),
    "GET /v1/tenants/{tenant}/timeline": Row(OWN),
    "POST /v1/tenants/{tenant}/suspend": Row((401, 404, 403, 403, 403, 200), {"reason": "unpaid"}),
    "POST /v1/tenants/{tenant}/resume": Row((401, 404, 403, 403, 403, 200), {"reason": "paid"}),
    "POST /v1/tenants/{gone}/offboard": Row((401, 404, 404, 404, 404, 202), {"reason": "left"}),
    "GET /v1/tenants/{tenant}/network": Row(OWN),
    "POST /v1/tenants/{tenant}/network": Row((401, 404, 403, 403, 403, 201), {"vlans": 1}),
    "GET /v1/tenants/{tenant}/balance": Row(OWN),
    "POST /v1/tenants/{tenant}/credits": Row(
        (401, 404, 403, 403, 403, 201),
        {"amount_micros": 10**9, "currency": "USD", "reason": "paid"},
    ),
    "GET /v1/onboardings": Row(PLATFORM_LIST),
    # What it would do goes on after its answer, so the platform asks for what there is not.
    "POST /v1/onboardings": Row(
        (401, 403, 403, 403, 403, 422),
        {"tenant": "newcomer", "admin": {"email": "a@b.example"}, "template": "nothing"},
    ),
    "GET /v1/onboardings/{onboarding}": Row(PLATFORM_THING),
    "GET /v1/onboardings/{onboarding}/timeline": Row(PLATFORM_THING),
    "GET /v1/templates": Row(PLATFORM_LIST),
    "GET /v1/templates/{template}": Row(PLATFORM_THING),
    "PUT /v1/templates/{template}": Row(PLATFORM_LIST, {"strategy": "spread"}),
    "GET /v1/pools": Row(PLATFORM_LIST),
    "POST /v1/pools": Row(
        (401, 403, 403, 403, 403, 201), {"name": "new", "kind": "vni", "first": 1, "last": 9}
    ),
    "GET /v1/pools/{pool}": Row(PLATFORM_THING),
    "GET /v1/organizations": Row(LIST),
    "POST /v1/organizations": Row(
        (401, 404, 403, 403, 201, 201), {"name": "new-{role}", "tenant": "{tenant}"}
    ),
    "GET /v1/organizations/{organization}": Row(OWN),
    "GET /v1/quotas": Row(OWN, query="?project={project}"),
    "PUT /v1/quotas": Row(
        (401, 404, 403, 403, 200, 200), {"project": "{project}", "gpus_max": 100}
    ),
    "DELETE /v1/quotas": Row((401, 404, 403, 403, 200, 200), query="?project={project}"),
    "GET /v1/projects": Row(LIST),
    "POST /v1/projects": Row(
        (401, 404, 403, 403, 201, 201), {"name": "new-{role}", "tenant": "{tenant}"}
    ),
    "GET /v1/projects/{project}": Row(OWN),
    "GET /v1/skus": Row(LIST),
    "POST /v1/skus": Row(
        (401, 403, 403, 403, 403, 201),
        {"name": "new", "shape": "gpu_slice", "family": "h100", "gpu_counts": [1],
         "price_micros_per_gpu_hour": 1},
    ),
    "GET /v1/skus/{sku}": Row(LIST),
    "GET /v1/sites": Row(PLATFORM_LIST),
    "POST /v1/sites": Row((401, 403, 403, 403, 403, 201), {"name": "new-site"}),
    "GET /v1/sites/{site}": Row(PLATFORM_THING),
    "PATCH /v1/sites/{site}": Row(PLATFORM_THING, {"tags": ["eu"]}),
    "POST /v1/sites/{site}/token": Row((401, 404, 404, 404, 404, 201)),
    "POST /v1/sites/{site}/node-tokens": Row((401, 404, 404, 404, 404, 201), {"count": 1}),
    "GET /v1/nodes": Row(PLATFORM_LIST),
    "GET /v1/nodes/{node}": Row(PLATFORM_THING),
    "PATCH /v1/nodes/{node}": Row(PLATFORM_THING, {"tags": ["fast"]}),
    "GET /v1/nodes/{node}/slots": Row(PLATFORM_THING),
    "POST /v1/nodes/{node}/drain": Row(PLATFORM_THING),
    "POST /v1/nodes/{node}/undrain": Row(PLATFORM_THING),
    "POST /v1/nodes/{node}/approve": Row(PLATFORM_THING),
    "GET /v1/slots/{slot}": Row(PLATFORM_THING),
    "POST /v1/slots/{slot}/approve": Row(PLATFORM_THING),
    # The slot is claimed and nothing is blocked, so the platform's answer is a conflict.
    "POST /v1/slots/{slot}/cleanup": Row((401, 404, 404, 404, 404, 409)),
    "GET /v1/allocations": Row(LIST),
    "POST /v1/allocations": Row(
        (401, 404, 403, 201, 201, 201), {"project": "{project}", "sku": "h100.slice", "gpus": 1}
    ),
    "GET /v1/allocations/{allocation}": Row(OWN),
    "GET /v1/allocations/{allocation}/timeline": Row(OWN),
    "GET /v1/allocations/{allocation}/receipt": Row(OWN),
    "GET /v1/allocations/{allocation}/receipt/replay": Row(OWN),
    "POST /v1/allocations/{allocation}/release": Row((401, 404, 403, 202, 202, 202)),
    "GET /v1/audit": Row((401, 200, 403, 403, 200, 200)),
    "GET /v1/audit/lines": Row(PLATFORM_LIST),
    "GET /v1/audit/verify": Row(PLATFORM_LIST),
    "GET /v1/availability": Row(LIST),
    "GET /v1/defragmentation": Row(PLATFORM_LIST, query="?family=h100&site={site}"),
    "GET /v1/usage": Row(LIST),
    "GET /v1/events": Row(LIST),
    "GET /v1/invariants": Row(PLATFORM_LIST),
    "GET /v1/keys": Row(LIST),
    # A personal key belongs to a user, and these callers are keys (test_personal_keys has users).
    "POST /v1/keys": Row((401, 403, 403, 403, 403, 403), {"name": "mine"}),
    "POST /v1/keys/{key}/revoke": Row(ADMINISTERED),
    "GET /v1/users": Row(LIST),
    "POST /v1/users/invite": Row(
        ADMINISTERED_NEW, {"email": "new-{role}@acme.example", "tenant": "{tenant}"}
    ),
    "GET /v1/users/{user}": Row(OWN),
    "POST /v1/users/{user}/disable": Row(ADMINISTERED),
    "POST /v1/users/{user}/enable": Row(ADMINISTERED),
    "POST /v1/users/{user}/reset": Row(ADMINISTERED_NEW, {"second_factor": True}),
    "GET /v1/sessions": Row(LIST),
    "POST /v1/sessions/{session}/revoke": Row(ADMINISTERED),
    "GET /v1/clients": Row(LIST),
    "POST /v1/clients": Row(ADMINISTERED_NEW, {"name": "new-{role}", "tenant": "{tenant}"}),
    "POST /v1/clients/{client}/disable": Row(ADMINISTERED),
    "GET /v1/providers": Row(LIST),
    "POST /v1/providers": Row(
        (401, 404, 403, 403, 403, 201),
        {"name": "new", "issuer": "https://idp.example", "client_id": "c", "client_secret": "s",
         "tenant": "{tenant}"},
    ),
    "POST /v1/providers/{provider}/disable": Row(ADMINISTERED),
    "POST /v1/realm/suspend": Row(
        (401, 404, 404, 404, 404, 200), {"tenant": "{gone}", "reason": "stolen"}
    ),
    "POST /v1/realm/resume": Row(
        (401, 404, 403, 403, 403, 200), {"tenant": "{tenant}", "reason": "found"}
    ),
    "POST /v1/realm/rotate": Row(ADMINISTERED, {"tenant": "{tenant}"}),
}  # fmt: skip

UNLISTED = {"GET /metrics": Row(PLATFORM_LIST)}  # served, but no part of the API

# The same operations where it matters what they are done to.
PLATFORM_CHANGE = (401, 404, 403, 403, 403, 200)
TENANT_CHANGE = (401, 404, 403, 403, 200, 200)
ELSEWHERE: list[tuple[str, Row]] = [
    ("GET /v1/quotas", Row(OWN, query="?tenant={tenant}")),
    ("GET /v1/quotas", Row(OWN, query="?organization={organization}")),
    ("PUT /v1/quotas", Row(PLATFORM_CHANGE, {"tenant": "{tenant}", "gpus_max": 200})),
    ("PUT /v1/quotas", Row(TENANT_CHANGE, {"organization": "{organization}", "gpus_max": 99})),
    ("DELETE /v1/quotas", Row(PLATFORM_CHANGE, query="?tenant={tenant}")),
    ("DELETE /v1/quotas", Row(TENANT_CHANGE, query="?organization={organization}")),
]


@dataclass(frozen=True)
class Stage:
    central: Central
    tenant: Tenant
    stranger: Tenant
    ids: dict[str, str]

    async def ask(self, role: str, operation: str, row: Row) -> int:
        api = {
            "nobody": self.central.caller(None),
            "stranger": self.stranger.admin,
            "platform": self.central.platform,
            **self.tenant.apis,
        }[role]
        method, _, path = operation.partition(" ")
        filled = {key: self._fill(value, role) for key, value in (row.body or {}).items()} or None
        url = (path + row.query).format(**self.ids)
        headers = api.headers
        async with api.client.stream(method, url, json=filled, headers=headers) as response:
            return response.status_code  # the events' stream has no end, so it is not read

    def _fill(self, value: object, role: str) -> object:
        return value.format(role=role, **self.ids) if isinstance(value, str) else value


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage, None]:
    folder = tmp_path_factory.mktemp("roles")
    url = server.create_database("roles", template=templates["central"])
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=2) as site,
    ):
        await catalog(central)
        tenant = await central.tenant("acme")
        lease = await tenant.member.made(
            "/v1/allocations", project="main", sku="h100.slice", gpus=1
        )
        ids = {
            "tenant": tenant.id, "project": tenant.project, "sku": "h100.slice",
            "site": site.id, "node": lease["node"], "slot": lease["slots"][0],
            "allocation": lease["id"],
            "organization": (await tenant.viewer.get("/v1/organizations/default")).json["id"],
            **await realm_stage.things(central, tenant, "acme"),
            **await _coming_and_going(central),
        }  # fmt: skip
        yield Stage(central, tenant, await central.tenant("stranger"), ids)
    server.drop_database("roles")


async def _coming_and_going(central: Central) -> dict[str, str]:
    """Pools, a template, a tenant that came and went."""
    platform = central.platform
    for kind in ("vrf", "vlan"):
        await platform.made("/v1/pools", name=f"{kind}s", kind=kind, first=1, last=99)
    await platform.put("/v1/templates/small")
    file = {"tenant": "guest", "admin": {"email": "a@b.example"}}
    begun = await platform.made("/v1/onboardings", **file)
    await central.until(begun["id"], "onboarding.done")
    gone = (await platform.post("/v1/tenants/guest/offboard", reason="left")).json["id"]
    await central.until(gone, "tenant.offboarded")
    return {"onboarding": begun["id"], "template": "small", "pool": "vlans", "gone": gone}


def operations() -> set[str]:
    """Every operation of the API, its path parameters reduced to `{}`."""
    paths: dict[str, dict[str, object]] = app.create().openapi()["paths"]
    return {_bare(f"{verb.upper()} {path}") for path, verbs in paths.items() for verb in verbs}


def _bare(operation: str) -> str:
    parts = ("{}" if part.startswith("{") else part for part in operation.split("/"))
    return "/".join(parts)


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert operations() == {_bare(operation) for operation in TABLE}


@pytest.mark.parametrize("operation", [*TABLE, *UNLISTED])
async def test_each_role_is_answered_what_the_table_says(stage: Stage, operation: str) -> None:
    await ask_all(stage, operation, {**TABLE, **UNLISTED}[operation])


@pytest.mark.parametrize(("operation", "row"), ELSEWHERE)
async def test_each_role_is_answered_by_what_it_asks_for(
    stage: Stage, operation: str, row: Row
) -> None:
    await ask_all(stage, operation, row)


CHANGES = "SELECT count(*) FROM audit_entries WHERE action <> 'access.denied'"


async def ask_all(stage: Stage, operation: str, row: Row) -> None:
    """The lesser roles first: what they were refused must not have happened."""
    before = await stage.central.value(CHANGES)
    changes = 0
    for role, expected in zip(ROLES, row.expected, strict=True):
        assert await stage.ask(role, operation, row) == expected, role
        if expected in (401, 403, 404, 409):
            now = await stage.central.value(CHANGES)
            assert now == before + changes, f"{role} was refused, and yet something changed"
        now = await stage.central.value(CHANGES)
        changes = now - before


async def test_a_lists_items_are_the_callers_own(stage: Stage) -> None:
    stranger, viewer = stage.stranger.viewer, stage.tenant.viewer
    assert [item["id"] for item in (await stranger.get("/v1/tenants")).items] == [stage.stranger.id]
    assert [item["id"] for item in (await viewer.get("/v1/tenants")).items] == [stage.tenant.id]
    assert (await stranger.get("/v1/allocations")).items == []
    projects = {item["tenant"] for item in (await viewer.get("/v1/projects")).items}
    assert projects == {stage.tenant.id}
    everyone = {item["tenant"] for item in (await stage.central.platform.get("/v1/projects")).items}
    assert {stage.tenant.id, stage.stranger.id} <= everyone
