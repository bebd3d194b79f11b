"""Roles at any level: what they reach, who may give them, and when they end."""

import re

import asyncpg
import pytest

from penstock.central.access.roles import LEVELS
from penstock_contracts import wire_pb2 as wire

from . import roles_stage
from .plane import Api, Central, Json, Tenant
from .realm_stage import Realm
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


async def lease(api: Api, project: str) -> Json:
    return await api.made("/v1/allocations", project=project, sku="h100.slice", gpus=1)


async def ids(api: Api, path: str) -> list[str]:
    answer = await api.get(path)
    assert answer.status == 200, answer.json
    return [item["id"] for item in answer.items]


async def bound(central: Central, tenant: Tenant, name: str, role: str, **place: str) -> Api:
    return await roles_stage.bound(central, name, role, tenant=tenant.id, **place)


async def test_a_member_of_a_project_sees_its_project_and_nothing_else_of_the_tenant(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    secret = await tenant.admin.made("/v1/projects", name="secret")
    theirs, other = await lease(tenant.member, "main"), await lease(tenant.member, "secret")
    api = await bound(central, tenant, "robot", "member", project=tenant.project)
    assert await ids(api, "/v1/projects") == [tenant.project]
    assert await ids(api, "/v1/allocations") == [theirs["id"]]
    assert await ids(api, f"/v1/allocations?project={secret['id']}") == []
    assert await ids(api, "/v1/organizations") == []
    for path in (
        f"/v1/projects/{secret['id']}", "/v1/projects/secret", f"/v1/allocations/{other['id']}",
        f"/v1/allocations/{other['id']}/timeline", f"/v1/quotas?project={secret['id']}",
        f"/v1/events?subject={other['id']}",
    ):  # fmt: skip
        assert (await api.get(path)).status == 404, path
    for path in ("/v1/users", "/v1/groups", "/v1/service-accounts", "/v1/events", "/v1/quotas"):
        assert (await api.get(path)).status == 403, path
    assert (await api.post(f"/v1/allocations/{other['id']}/release")).status == 404
    refused = await api.post("/v1/allocations", project="secret", sku="h100.slice", gpus=1)
    assert (refused.status, refused.code) == (404, "not_found")
    mine = await lease(api, "main")
    assert (await api.post(f"/v1/allocations/{mine['id']}/release")).status == 202


async def test_what_an_organization_has_is_reached_by_a_role_in_it(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    research = await tenant.admin.made("/v1/organizations", name="research")
    lab = await tenant.admin.made("/v1/projects", name="lab", organization="research")
    here = await lease(tenant.member, "lab")
    await lease(tenant.member, "main")
    viewer = await bound(central, tenant, "v", "viewer", organization=research["id"])
    assert await ids(viewer, "/v1/projects") == [lab["id"]]
    assert await ids(viewer, "/v1/allocations") == [here["id"]]
    assert await ids(viewer, "/v1/organizations") == [research["id"]]
    assert (await viewer.get(f"/v1/allocations/{here['id']}")).status == 200
    chief = await bound(central, tenant, "c", "org_admin", organization=research["id"])
    made = await chief.made("/v1/projects", name="lab-2", organization="research")
    assert made["organization"] == research["id"]
    for name in ("default", "nowhere"):  # what it may not see, and what is not there
        refused = await chief.post("/v1/projects", name="x", organization=name)
        assert (refused.status, refused.code) == (422, "unknown_organization"), name


async def test_usage_is_that_of_the_projects_one_sees(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await tenant.admin.made("/v1/projects", name="secret")
    for project in ("main", "secret"):
        taken = await lease(tenant.member, project)
        await site.observe(await site.order(taken), wire.OBSERVED_ACTIVE)
    everyones = (await tenant.viewer.get("/v1/usage")).items
    assert len(everyones) == 2
    bills = await bound(central, tenant, "bills", "finance", project=tenant.project)
    assert {item["project"] for item in (await bills.get("/v1/usage")).items} == {tenant.project}


async def test_site_roles_see_their_own_sites_only(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    elsewhere = await central.platform.made("/v1/sites", name="elsewhere")
    supplier = await roles_stage.bound(central, "supplier", "supplier", site=elsewhere["id"])
    operator = await roles_stage.bound(central, "operator", "site_operator", site=site.id)
    assert await ids(supplier, "/v1/sites") == [elsewhere["id"]]
    assert await ids(supplier, "/v1/nodes") == []
    assert await ids(operator, "/v1/sites") == [site.id]
    nodes = await ids(operator, "/v1/nodes")
    assert nodes == await ids(central.platform, f"/v1/nodes?site={site.id}")
    assert await ids(operator, f"/v1/nodes?site={elsewhere['id']}") == []
    assert (await supplier.get(f"/v1/nodes/{nodes[0]}")).status == 404
    every = await roles_stage.bound(central, "all-sites", "site_operator")
    assert set(await ids(every, "/v1/sites")) == {site.id, elsewhere["id"]}


async def test_a_removed_binding_and_a_disabled_account_count_from_the_next_request_on(
    central: Central, tenant: Tenant
) -> None:
    admin = tenant.admin
    account = await admin.made("/v1/service-accounts", name="robot")
    key = await admin.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    api = central.caller(key["token"])
    assert (await api.get("/v1/projects")).status == 403
    body = {"subject": account["id"], "role": "viewer", "project": "main"}
    binding = await admin.made("/v1/role-bindings", **body)
    assert await ids(api, "/v1/projects") == [tenant.project]
    assert (await admin.post("/v1/role-bindings", **body)).code == "already_bound"
    assert (await admin.delete(f"/v1/role-bindings/{binding['id']}")).status == 200
    assert (await api.get("/v1/projects")).status == 403
    assert (await admin.delete(f"/v1/role-bindings/{binding['id']}")).status == 404
    await admin.made(f"/v1/service-accounts/{account['id']}/disable")
    assert (await api.get("/v1/me")).status == 401
    refused = await admin.post(f"/v1/service-accounts/{account['id']}/keys", name="k2")
    assert refused.status == 409
    await admin.made(f"/v1/service-accounts/{account['id']}/enable")
    assert (await api.get("/v1/me")).status == 200


async def test_who_is_in_a_group_has_its_roles_while_in_it(
    central: Central, tenant: Tenant
) -> None:
    realm = Realm(central, tenant, "acme")
    browser = await realm.join("ann@acme.example", "none")
    ann = realm.api(await realm.device(browser))
    user = (await realm.user("ann@acme.example"))["id"]
    assert (await ann.get("/v1/projects")).status == 403
    group = await tenant.admin.made("/v1/groups", name="team")
    await tenant.admin.made("/v1/role-bindings", subject=group["id"], role="viewer", project="main")
    await tenant.admin.made(f"/v1/groups/{group['id']}/members", member=user)
    assert await ids(ann, "/v1/projects") == [tenant.project]
    key = await ann.made("/v1/keys", name="mine")  # a personal key can do what she can
    assert await ids(central.caller(key["token"]), "/v1/projects") == [tenant.project]
    assert (await tenant.admin.delete(f"/v1/groups/{group['id']}/members/{user}")).status == 200
    assert (await ann.get("/v1/projects")).status == 403
    assert (await central.caller(key["token"]).get("/v1/projects")).status == 403
    changed = await tenant.admin.send("PATCH", f"/v1/users/{user}", json={"role": "member"})
    assert changed.json["role"] == "member"
    assert (await ann.get("/v1/projects")).status == 200
    await browser.client.aclose()


async def test_nobody_changes_their_own_role(central: Central, tenant: Tenant) -> None:
    realm = Realm(central, tenant, "acme")
    browser = await realm.join("ann@acme.example", "admin")
    ann = realm.api(await realm.device(browser))
    user = (await realm.user("ann@acme.example"))["id"]
    refused = await ann.send("PATCH", f"/v1/users/{user}", json={"role": "viewer"})
    assert refused.status == 409
    await browser.client.aclose()


async def test_nobody_grants_more_than_they_may(central: Central, tenant: Tenant) -> None:
    someone = await tenant.admin.made("/v1/service-accounts", name="someone")
    organization = (await tenant.admin.get("/v1/organizations/default")).json["id"]
    chief = await bound(central, tenant, "chief", "org_admin", organization=organization)
    head = await bound(central, tenant, "head", "project_admin", project=tenant.project)
    before = await central.value("SELECT count(*) FROM role_bindings")

    async def bind(api: Api, role: str, **place: str) -> int:
        answer = await api.post("/v1/role-bindings", subject=someone["id"], role=role, **place)
        return answer.status

    assert await bind(chief, "admin", tenant=tenant.id) == 403
    assert await bind(chief, "admin", organization=organization) == 403
    assert await bind(chief, "platform_admin") == 403
    assert await bind(head, "org_admin", organization=organization) == 404
    assert await bind(head, "org_admin", project=tenant.project) == 403
    assert await bind(head, "member", tenant=tenant.id) == 403
    assert await bind(tenant.admin, "platform_admin") == 422  # not at a tenant
    assert await bind(tenant.member, "viewer", project=tenant.project) == 403
    assert await central.value("SELECT count(*) FROM role_bindings") == before
    assert await bind(head, "member", project=tenant.project) == 201
    # Nor do they take away what is above them.
    admins = await tenant.admin.made("/v1/role-bindings", subject=someone["id"], role="admin")
    for api in (chief, head):
        assert (await api.delete(f"/v1/role-bindings/{admins['id']}")).status == 404


BAD: dict[str, tuple[int, str, Json]] = {
    "an unknown role": (422, "invalid", {"role": "king"}),
    "a homoglyph": (422, "invalid", {"role": "аdmin"}),
    "control characters": (422, "invalid", {"subject": "sa_\u0000\u001b[2J"}),
    "a subject of 10 kB": (422, "invalid", {"subject": "s" * 10_000}),
    "no such subject": (422, "unknown_subject", {"subject": "sa_0"}),
    "a role where it may not be": (422, "wrong_level", {"role": "admin", "project": "main"}),
    "an organization's role at a project": (
        422, "wrong_level", {"role": "org_admin", "project": "main"},
    ),
    "two places": (422, "invalid", {"project": "main", "organization": "default"}),
    "another tenant's project": (404, "not_found", {"project": "{other_project}"}),
    "another tenant": (404, "not_found", {"tenant": "{other}"}),
    "another tenant's subject": (422, "unknown_subject", {"subject": "{other_account}"}),
    "the platform's subject": (422, "unknown_subject", {"subject": "{platform_account}"}),
    "a site": (404, "not_found", {"site": "{site}", "role": "supplier"}),
    "no hours": (422, "invalid", {"conditions": {"hours": {"begin": 8, "end": 8}}}),
    "an hour too many": (422, "invalid", {"conditions": {"hours": {"begin": 8, "end": 25}}}),
    "no family": (422, "invalid", {"conditions": {"families": []}}),
    "an unknown condition": (422, "invalid", {"conditions": {"moon": "full"}}),
}  # fmt: skip


async def test_bad_bindings_are_refused_and_leave_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    account = await tenant.admin.made("/v1/service-accounts", name="robot")
    names = {
        "other": other.id, "other_project": other.project, "site": site.id,
        "other_account": (await other.admin.made("/v1/service-accounts", name="r"))["id"],
        "platform_account": (await central.platform.made("/v1/service-accounts", name="r"))["id"],
    }  # fmt: skip
    for what, (status, code, changes) in BAD.items():
        filled = {k: v.format(**names) if isinstance(v, str) else v for k, v in changes.items()}
        body = {"subject": account["id"], "role": "viewer", **filled}
        answer = await tenant.admin.post("/v1/role-bindings", **body)
        assert (answer.status, answer.code) == (status, code), what
    # The platform sees both tenants, and joins them as little.
    mixed = await central.platform.post(
        "/v1/role-bindings", subject=account["id"], role="viewer", project=other.project
    )
    assert (mixed.status, mixed.code) == (422, "unknown_subject")
    assert await central.value("SELECT count(*) FROM role_bindings") == 0
    for path in ("/v1/groups", "/v1/service-accounts"):
        for name in ("аdmin", "a\u0000b", "x" * 10_000, "", "A B"):
            assert (await tenant.admin.post(path, name=name)).status == 422, name
    group = await tenant.admin.made("/v1/groups", name="team")
    for member in (names["other_account"], names["platform_account"], "user_0", group["id"]):
        answer = await tenant.admin.post(f"/v1/groups/{group['id']}/members", member=member)
        assert (answer.status, answer.code) == (422, "unknown_member")


async def test_the_database_itself_refuses_a_binding_that_joins_two_tenants(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    account = (await tenant.admin.made("/v1/service-accounts", name="robot"))["id"]
    platforms = (await central.platform.made("/v1/service-accounts", name="robot"))["id"]
    insert = (
        "INSERT INTO role_bindings (id, tenant_id, subject, subject_id, role, scope, scope_id, "
        "created_by, created_at) VALUES ('binding_x', $1, 'service_account', $2, $3, $4, $5, "
        "'x', now())"
    )
    for arguments in (
        (tenant.id, account, "member", "project", other.project),
        (tenant.id, account, "member", "tenant", other.id),
        (other.id, account, "member", "project", other.project),
        (tenant.id, account, "supplier", "site", site.id),
        (tenant.id, account, "platform_admin", "platform", "platform"),
        (None, account, "platform_admin", "platform", "platform"),
        (None, platforms, "member", "project", tenant.project),
        (None, platforms, "platform_admin", "platform", "elsewhere"),
        (tenant.id, account, "admin", "project", tenant.project),
        (tenant.id, account, "king", "project", tenant.project),
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await central.execute(insert, *arguments)
    await central.execute(insert, tenant.id, account, "member", "project", tenant.project)


async def test_the_database_knows_the_same_roles_at_the_same_levels(central: Central) -> None:
    text: str = await central.value(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = "
        "'role_bindings'::regclass AND pg_get_constraintdef(oid) LIKE '%platform_auditor%'"
    )
    words = re.findall(r"'(\w+)'::text", text)
    known = set(zip(words[::2], words[1::2], strict=True))
    assert known == {(str(role), str(level)) for role in LEVELS for level in LEVELS[role]}
