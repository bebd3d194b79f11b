"""R08: 20 racers with one Idempotency-Key on every POST there is: one effect, one answer."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

import pytest

from penstock.central import app
from penstock.local.postgres import EmbeddedPostgres

from . import plane, realm_stage, stand_in_site
from .conftest import catalog
from .plane import Answer, Api, Central, Json
from .realm_stage import Realm
from .stand_in_site import Node

pytestmark = pytest.mark.anyio

RACERS: Final = 20


@dataclass(frozen=True)
class Post:
    """A call, another body for the same key, and how many audit entries one of it leaves."""

    status: int
    entries: int
    body: Json = field(default_factory=dict[str, object])
    other: Json = field(default_factory=lambda: {"name": "another"})
    caller: str = "platform"
    after: str = ""  # what must have been done before, with the same body
    secret: bool = False  # shown once, so not shown to those who come after
    only: str = "%"  # the actions that are counted


LEASE: Final[Json] = {"project": "main", "sku": "h100.slice", "gpus": 1}
CREDIT: Final[Json] = {"amount_micros": 5, "currency": "USD", "reason": "paid"}
SKU: Final[Json] = {
    "name": "raced", "shape": "gpu_slice", "family": "h100", "gpu_counts": [1],
    "price_micros_per_gpu_hour": 1,
}  # fmt: skip
PROVIDER: Final[Json] = {
    "name": "raced", "issuer": "https://idp.example", "client_id": "c", "client_secret": "s",
}  # fmt: skip
POOL: Final[Json] = {"name": "raced", "kind": "vni", "first": 1, "last": 9}
SHUT: Final[Json] = {"tenant": "{other}", "reason": "because"}
BECAUSE: Final[Json] = {"reason": "because"}
FILE: Final[Json] = {"tenant": "raced-too", "admin": {"email": "ada@example.com"}}
POSTS: Final = {
    "/v1/allocations": Post(201, 1, LEASE, {**LEASE, "gpus": 2}, caller="member"),
    "/v1/allocations/{allocation}/release": Post(202, 1, caller="member"),
    "/v1/tenants": Post(201, 2, {"name": "raced"}),  # it and its first organization
    "/v1/tenants/{tenant}/keys": Post(201, 1, {"name": "k", "role": "viewer"}, secret=True),
    "/v1/tenants/{tenant}/credits": Post(201, 1, CREDIT, {**CREDIT, "amount_micros": 6}),
    "/v1/organizations": Post(201, 1, {"name": "raced"}, caller="admin"),
    "/v1/projects": Post(201, 1, {"name": "raced"}, caller="admin"),
    "/v1/skus": Post(201, 1, SKU, {**SKU, "name": "another"}),
    "/v1/sites": Post(201, 1, {"name": "raced"}),
    "/v1/sites/{site}/token": Post(201, 1, secret=True),
    "/v1/sites/{site}/node-tokens": Post(201, 1, {"count": 2}, {"count": 3}, secret=True),
    "/v1/nodes/{node}/drain": Post(
        200, 1, {"reason": "disk"}, {"reason": "fan"}, after="/v1/nodes/{node}/undrain"
    ),
    "/v1/nodes/{node}/undrain": Post(200, 1, after="/v1/nodes/{node}/drain"),
    # Nothing is left to approve, and nothing is blocked: no effect, and no second one.
    "/v1/nodes/{node}/approve": Post(200, 0),
    "/v1/nodes/{retired}/replace": Post(201, 1, secret=True),
    "/v1/nodes/{node}/rejoin-token": Post(201, 1, secret=True),
    "/v1/reenrolments/{found}/approve": Post(200, 1, BECAUSE),
    "/v1/reenrolments/{lost}/reject": Post(200, 1, BECAUSE),
    "/v1/nodes/{spare}/retire": Post(202, 2, BECAUSE),  # its begin and its end
    "/v1/slots/{slot}/approve": Post(200, 0),
    "/v1/slots/{slot}/cleanup": Post(409, 0),
    "/v1/disputes/{dispute}/settle": Post(200, 1, {"reason": "asked"}, {"reason": "guessed"}),
    "/v1/allocations/{allocation}/abandon": Post(
        202, 1, BECAUSE, after="/v1/allocations/{allocation}/release"
    ),
    "/v1/pools": Post(201, 1, POOL, {**POOL, "name": "another"}),
    "/v1/tenants/{other}/network": Post(201, 1, {"vlans": 1}, {"vlans": 2}),
    "/v1/tenants/{other}/suspend": Post(200, 1, BECAUSE, after="/v1/tenants/{other}/resume"),
    "/v1/tenants/{other}/resume": Post(200, 1, BECAUSE, after="/v1/tenants/{other}/suspend"),
    "/v1/keys": Post(201, 1, {"name": "k"}, caller="person", secret=True),
    "/v1/keys/{key}/revoke": Post(200, 1, caller="admin"),
    "/v1/sessions/{session}/revoke": Post(200, 1, caller="admin"),
    "/v1/users/invite": Post(
        201, 1, {"email": "raced@acme.example"}, {"email": "b@acme.example"}, "admin", secret=True
    ),
    "/v1/users/{user}/reset": Post(201, 1, {"second_factor": True}, caller="admin", secret=True),
    "/v1/users/{user}/disable": Post(200, 1, caller="admin"),
    "/v1/users/{user}/enable": Post(200, 1, caller="admin"),
    "/v1/clients": Post(201, 1, {"name": "raced"}, caller="admin", secret=True),
    "/v1/clients/{client}/disable": Post(200, 1, caller="admin"),
    "/v1/providers": Post(201, 1, {**PROVIDER, "tenant": "{tenant}"}, {**PROVIDER, "tenant": "x"}),
    "/v1/providers/{provider}/disable": Post(200, 1, caller="admin"),
    "/v1/realm/rotate": Post(200, 1, caller="admin"),
    "/v1/role-bindings": Post(
        201,
        1,
        {"subject": "{account}", "role": "viewer"},
        {"subject": "x", "role": "viewer"},
        caller="admin",
    ),
    "/v1/groups": Post(201, 1, {"name": "raced"}, caller="admin"),
    "/v1/groups/{group}/members": Post(
        200, 1, {"member": "{account}"}, {"member": "x"}, caller="admin"
    ),
    "/v1/service-accounts": Post(201, 1, {"name": "raced"}, caller="admin"),
    "/v1/service-accounts/{account}/keys": Post(201, 1, {"name": "k"}, caller="admin", secret=True),
    "/v1/service-accounts/{account}/disable": Post(200, 1, caller="admin"),
    "/v1/service-accounts/{account}/enable": Post(
        200, 1, caller="admin", after="/v1/service-accounts/{account}/disable"
    ),
    "/v1/realm/suspend": Post(200, 1, SHUT, {**SHUT, "reason": "x"}, after="/v1/realm/resume"),
    "/v1/realm/resume": Post(200, 1, SHUT, {**SHUT, "reason": "x"}, after="/v1/realm/suspend"),
    # These go on after their answer, which is in the log too: so they are the last.
    "/v1/tenants/{leaver}/offboard": Post(202, 1, BECAUSE, only="tenant.offboard"),
    "/v1/onboardings": Post(202, 1, FILE, only="onboarding.create"),
}


@dataclass(frozen=True)
class Stage:
    central: Central
    callers: dict[str, Api]
    ids: dict[str, str]


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage, None]:
    folder = tmp_path_factory.mktemp("posts")
    server.create_database("posts", template=templates["central"])
    url = server.serving_url("central", "posts")
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=2) as site,
    ):
        await catalog(central)
        tenant = await central.tenant("acme")
        lease = await tenant.member.made("/v1/allocations", **LEASE)
        realm = Realm(central, tenant, "acme")
        browser = await realm.join("ann@acme.example", "admin")
        person = realm.api(await realm.device(browser))
        for kind in ("vrf", "vlan"):
            await central.platform.made("/v1/pools", name=kind, kind=kind, first=1, last=99)
        callers = {**tenant.apis, "platform": central.platform, "person": person}
        group = await tenant.admin.made("/v1/groups", name="team")
        account = await tenant.admin.made("/v1/service-accounts", name="robot")
        spare, lost, gone = [await site.add(Node(name)) for name in ("spare", "lost", "gone")]
        await central.platform.made(f"/v1/nodes/{gone.id}/retire", reason="gone")
        ids = {
            "spare": spare.id, "retired": gone.id,
            "found": await stand_in_site.came_back(central, site, spare),
            "lost": await stand_in_site.came_back(central, site, lost),
            "group": group["id"], "account": account["id"],
            "tenant": tenant.id, "site": site.id, "node": lease["node"],
            "slot": lease["slots"][0], "allocation": lease["id"],
            "dispute": await stand_in_site.disputed(site, tenant),
            "other": (await central.tenant("other")).id,
            "leaver": (await central.tenant("leaver")).id,
            **await realm_stage.things(central, tenant, "acme"),
        }  # fmt: skip
        yield Stage(central, callers, ids)
        await browser.client.aclose()
    server.drop_database("posts")


def _bare(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def test_every_post_of_the_api_is_raced() -> None:
    paths: dict[str, Json] = app.create().openapi()["paths"]
    assert {_bare(path) for path, verbs in paths.items() if "post" in verbs} == {
        _bare(path) for path in POSTS
    }


def filled(body: Json, stage: Stage) -> Json:
    return {
        name: value.format(**stage.ids) if isinstance(value, str) else value
        for name, value in body.items()
    }


def _same(answer: Answer) -> Json:
    """What must be the same in every answer: not how old things are, nor whose question it was."""
    leave = {"states", "correlation_id"}
    return {key: value for key, value in answer.json.items() if key not in leave}


@pytest.mark.parametrize("path", POSTS)
async def test_of_many_racers_one_has_an_effect_and_all_get_its_answer(
    stage: Stage, path: str
) -> None:
    post, target, key = POSTS[path], path.format(**stage.ids), f"key-of-{path}"
    api = stage.callers[post.caller]
    if post.after:
        await api.post(post.after.format(**stage.ids), **filled(post.body, stage))
    before = await _entries(stage, post)
    racers = [api.post_once(key, target, **filled(post.body, stage)) for _ in range(RACERS)]
    answers = await asyncio.gather(*racers)
    assert await _entries(stage, post) - before == post.entries
    statuses = Counter(answer.status for answer in answers)
    if post.secret:
        assert statuses == {post.status: 1, 409: RACERS - 1}
        assert {a.code for a in answers if a.status == 409} == {"answer_shown_once"}
    else:
        assert statuses == {post.status: RACERS}
        assert all(_same(answer) == _same(answers[0]) for answer in answers)
    changed = await api.post_once(key, target, **post.other)
    assert (changed.status, changed.code) == (409, "idempotency_key_reused")
    assert await _entries(stage, post) - before == post.entries


async def _entries(stage: Stage, post: Post) -> int:
    changes = (
        "SELECT count(*) FROM audit_entries WHERE action <> 'access.denied' AND action LIKE $1"
    )
    count: int = await stage.central.value(changes, post.only)
    return count
