"""Conditions are not shed by handing power on: every door through which somebody gets some."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from penstock.central.access.roles import Role
from penstock.central.bindings import service as bindings
from penstock.central.bindings.places import Named
from penstock.kernel.actor import Actor, Grant
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import ServiceAccountId, TenantId

from .plane import Answer, Api, Central, Json, Tenant
from .realm_stage import Realm
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

A100: Json = {"families": ["a100"]}
MISSING = (403, "conditions_missing")


def now_and_later() -> tuple[Json, Json]:
    """Hours and weekdays that it is now, and will be until the test is over."""
    now = datetime.now(UTC)
    hours = {"begin": (now.hour - 2) % 24, "end": (now.hour + 18) % 24}
    return {"hours": hours}, {"weekdays": sorted({now.isoweekday(), now.isoweekday() % 7 + 1})}


@dataclass
class Chief:
    """A program that has one role, under conditions."""

    id: str
    api: Api


async def chief(
    central: Central, owner: Tenant | None, role: str, conditions: Json, **place: str
) -> Chief:
    api = owner.admin if owner else central.platform
    account = await api.made("/v1/service-accounts", name=f"chief-{ServiceAccountId.new()[-8:]}")
    body = {"subject": account["id"], "role": role, "conditions": conditions, **place}
    await api.made("/v1/role-bindings", **body)
    key = await api.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    return Chief(account["id"], central.caller(key["token"]))


def said(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json.get("code", "")


@pytest.mark.parametrize("kind", ["families", "residency", "hours", "weekdays", "all of them"])
@pytest.mark.parametrize("role", ["admin", "org_admin", "project_admin"])
async def test_an_admin_under_conditions_binds_nothing_without_them(
    central: Central, site: StandInSite, tenant: Tenant, role: str, kind: str
) -> None:
    hours, weekdays = now_and_later()
    kinds = {"families": A100, "residency": {"residency": ["eu"]}, "hours": hours,
             "weekdays": weekdays}  # fmt: skip
    conditions: Json = kinds.get(kind) or {**A100, "residency": ["eu"], **hours, **weekdays}
    places: dict[str, Json] = {
        "org_admin": {"organization": "default"}, "project_admin": {"project": "main"},
    }  # fmt: skip
    granter = await chief(central, tenant, role, conditions, **places.get(role, {}))

    async def bind(given: Json) -> Answer:
        return await granter.api.post(
            "/v1/role-bindings", subject=granter.id, role="member", project="main",
            conditions=given,
        )  # fmt: skip

    narrower_by_other_things = {"second_factor": True}
    fewer = [{name: c for name, c in conditions.items() if name != left} for left in conditions]
    for given in ({}, narrower_by_other_things, *fewer):
        refused = await bind(given)
        assert said(refused) == MISSING, given
        assert "--" in refused.json["suggestion"], "it says what to add"
    assert await central.value("SELECT count(*) FROM role_bindings WHERE role = 'member'") == 0
    lease = {"project": "main", "sku": "h100.slice", "gpus": 1}
    if "families" in conditions or "residency" in conditions:
        assert (await granter.api.post("/v1/allocations", **lease)).status == 403
    assert (await bind({**conditions, "second_factor": True})).status == 201, "as many, or more"


async def test_narrower_of_the_same_kind_is_enough_and_wider_is_not(
    central: Central, tenant: Tenant
) -> None:
    both = await chief(
        central, tenant, "project_admin", {"families": ["a100", "h100"]}, project="main"
    )
    someone = await tenant.admin.made("/v1/service-accounts", name="someone")

    async def bind(*families: str) -> int:
        body = {"subject": someone["id"], "role": "viewer", "project": "main"}
        given = {"families": list(families)}
        return (await both.api.post("/v1/role-bindings", **body, conditions=given)).status

    assert await bind("a100", "l40s") == 403
    assert await bind("l40s") == 403
    assert await bind("a100") == 201


async def test_a_role_without_conditions_grants_in_its_own_place_whatever_others_carry(
    central: Central, tenant: Tenant
) -> None:
    """A condition limits its own binding and no other, here as everywhere."""
    granter = await chief(central, tenant, "admin", A100)
    await tenant.admin.made(
        "/v1/role-bindings", subject=granter.id, role="project_admin", project="main"
    )
    await tenant.admin.made("/v1/projects", name="other")
    body = {"subject": granter.id, "role": "member"}
    assert (await granter.api.post("/v1/role-bindings", **body, project="main")).status == 201
    assert said(await granter.api.post("/v1/role-bindings", **body, project="other")) == MISSING


async def test_two_hops_are_no_way_around(central: Central, tenant: Tenant) -> None:
    """A binds B, B binds A: each hop carries what the one before had."""
    first = await chief(central, tenant, "project_admin", A100, project="main")
    second = await first.api.post(
        "/v1/role-bindings", subject=first.id, role="member", project="main", conditions=A100
    )
    assert second.status == 201
    friend = await tenant.admin.made("/v1/service-accounts", name="friend")
    key = await tenant.admin.made(f"/v1/service-accounts/{friend['id']}/keys", name="k")
    api = central.caller(key["token"])
    body = {"role": "project_admin", "project": "main"}
    refused = await first.api.post("/v1/role-bindings", subject=friend["id"], **body)
    assert said(refused) == MISSING
    await first.api.made("/v1/role-bindings", subject=friend["id"], **body, conditions=A100)
    back = await api.post("/v1/role-bindings", subject=first.id, role="viewer", project="main")
    assert said(back) == MISSING
    # Nor does taking it away and giving it again lift them.
    await api.delete(f"/v1/role-bindings/{second.json['id']}")
    again = await api.post("/v1/role-bindings", subject=first.id, role="member", project="main")
    assert said(again) == MISSING


async def test_a_group_is_joined_only_by_who_could_be_given_its_roles(
    central: Central, tenant: Tenant
) -> None:
    admin, granter = tenant.admin, await chief(central, tenant, "admin", A100)
    free = await admin.made("/v1/groups", name="free")
    await admin.made("/v1/role-bindings", subject=free["id"], role="member", project="main")
    bound = await granter.api.made("/v1/groups", name="bound")
    body = {"subject": bound["id"], "role": "member", "project": "main"}
    assert said(await granter.api.post("/v1/role-bindings", **body)) == MISSING
    await granter.api.made("/v1/role-bindings", **body, conditions=A100)
    someone = (await admin.made("/v1/service-accounts", name="someone"))["id"]
    for member in (granter.id, someone):
        refused = await granter.api.post(f"/v1/groups/{free['id']}/members", member=member)
        assert said(refused) == MISSING
        await granter.api.made(f"/v1/groups/{bound['id']}/members", member=member)
    assert await central.value("SELECT count(*) FROM group_members") == 2
    taken = await granter.api.delete(f"/v1/groups/{bound['id']}/members/{someone}")
    assert taken.status == 200, "to take away is no grant"


async def test_roles_in_the_whole_tenant_carry_no_conditions_so_they_are_not_given_under_any(
    central: Central, tenant: Tenant
) -> None:
    """Keys, clients, invitations and users' roles: `none`, and then a binding that carries them."""
    api = (await chief(central, tenant, "admin", A100)).api
    realm = Realm(central, tenant, "acme")
    browser = await realm.join("ann@acme.example", "none")
    await browser.client.aclose()
    ann = (await realm.user("ann@acme.example"))["id"]
    client = {"name": "app", "grants": ["client_credentials"], "scopes": ["administer"]}

    async def doors(role: str) -> list[Answer]:
        return [
            await api.post(f"/v1/tenants/{tenant.id}/keys", name=f"k-{role}", role=role),
            await api.post("/v1/users/invite", email=f"{role}@acme.example", role=role),
            await api.post("/v1/clients", **client, role=role),
            await api.send("PATCH", f"/v1/users/{ann}", json={"role": role}),
        ]

    for role in ("admin", "member", "viewer", "finance"):
        for answer in await doors(role):
            assert said(answer) == MISSING
            assert "none" in answer.json["suggestion"]
    assert [answer.status for answer in await doors("none")] == [201, 201, 201, 200]
    made = {row["role"] for row in await central.rows("SELECT role FROM realm_clients")}
    assert made <= {None, "none"}


async def test_who_can_do_more_is_not_taken_over(central: Central, tenant: Tenant) -> None:
    """A key of theirs, a way to their password, their coming back: all hand on what they have."""
    admin, granter = tenant.admin, await chief(central, tenant, "admin", A100)
    api, realm = granter.api, Realm(central, tenant, "acme")
    for name, role in (("ann", "admin"), ("bob", "none"), ("cy", "none")):
        browser = await realm.join(f"{name}@acme.example", role)
        await browser.client.aclose()
    ann, bob, cy = [(await realm.user(f"{n}@acme.example"))["id"] for n in ("ann", "bob", "cy")]
    team = await admin.made("/v1/groups", name="team")
    await admin.made("/v1/role-bindings", subject=team["id"], role="member", project="main")
    await admin.made(f"/v1/groups/{team['id']}/members", member=bob)
    body = {"role": "member", "project": "main"}
    await admin.made("/v1/role-bindings", subject=cy, **body, conditions=A100)
    for user in (ann, bob):
        assert said(await api.post(f"/v1/users/{user}/reset", second_factor=True)) == MISSING
        await admin.made(f"/v1/users/{user}/disable")
        assert said(await api.post(f"/v1/users/{user}/enable")) == MISSING
    assert (await api.post(f"/v1/users/{cy}/reset", second_factor=True)).status == 201
    await api.made(f"/v1/users/{cy}/disable")
    await api.made(f"/v1/users/{cy}/enable")

    robot = (await admin.made("/v1/service-accounts", name="robot"))["id"]
    held = (await admin.made("/v1/service-accounts", name="held"))["id"]
    await admin.made(f"/v1/groups/{team['id']}/members", member=robot)
    await admin.made("/v1/role-bindings", subject=held, **body, conditions=A100)
    assert said(await api.post(f"/v1/service-accounts/{robot}/keys", name="k")) == MISSING
    await api.made(f"/v1/service-accounts/{held}/keys", name="k")
    for account, status in ((robot, 403), (held, 200)):
        await admin.made(f"/v1/service-accounts/{account}/disable")
        back = await api.post(f"/v1/service-accounts/{account}/enable")
        assert back.status == status, back.json


async def test_a_platform_admin_under_conditions_lets_nobody_in_without_them(
    central: Central, tenant: Tenant
) -> None:
    hours, _ = now_and_later()
    api = (await chief(central, None, "platform_admin", hours)).api
    idp = {"name": "idp", "issuer": "https://idp.example", "client_id": "c", "client_secret": "s"}
    file = {"tenant": "guest", "admin": {"email": "a@b.example"}}
    someone = await central.platform.made("/v1/service-accounts", name="someone")
    for answer in (
        await api.post("/v1/onboardings", **file),
        await api.post("/v1/providers", tenant=tenant.id, **idp),
        await api.post(f"/v1/tenants/{tenant.id}/keys", name="k", role="admin"),
        await api.post("/v1/users/invite", tenant=tenant.id, email="a@b.example", role="viewer"),
        await api.post("/v1/role-bindings", subject=someone["id"], role="platform_auditor"),
    ):
        assert said(answer) == MISSING
    assert (await api.post("/v1/tenants", name="empty")).status == 201, "nobody is in it yet"


async def test_a_second_factor_that_was_there_is_still_asked_of_who_is_given_the_role(
    central: Central, tenant: Tenant
) -> None:
    someone = await tenant.admin.made("/v1/service-accounts", name="someone")
    owner = TenantId(tenant.id)
    grant = Grant("admin", "tenant", owner, (("second_factor", ("required",)),))
    actor = Actor("user", "user_1", "none", owner, grants=frozenset({grant}), second_factor=True)
    at = Named(project=tenant.project)

    async def bind(**conditions: list[str]) -> None:
        async with central.database.transaction(tenant=owner) as tx:
            await bindings.bind(
                tx, actor, subject=someone["id"], role=Role.MEMBER, at=at, conditions=conditions
            )

    with pytest.raises(Forbidden) as refused:
        await bind(families=["a100"])
    assert refused.value.code == "conditions_missing"
    await bind(second_factor=["required"])
