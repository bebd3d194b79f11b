"""Who may do what, and why: told to those who may know."""

import pytest

from . import roles_stage
from .plane import Api, Central, Json, Tenant

pytestmark = pytest.mark.anyio


async def explain(api: Api, action: str, **more: str) -> Json:
    answer = await api.get("/v1/access/explain", action=action, **more)
    assert answer.status == 200, answer.json
    return answer.json


async def test_a_denial_names_the_roles_that_would_permit_it(
    central: Central, tenant: Tenant
) -> None:
    organization = (await tenant.admin.get("/v1/organizations/default")).json["id"]
    viewer = await roles_stage.bound(
        central, "v", "viewer", tenant=tenant.id, project=tenant.project
    )
    seen = await explain(viewer, "project.view", resource=tenant.project)
    assert (seen["allowed"], seen["policies"]) == (True, ["viewers-see"])
    assert seen["needed"] == []
    denied = await explain(viewer, "allocation.create", resource=tenant.project)
    assert (denied["allowed"], denied["policies"]) == (False, [])
    needed = {(need["role"], need["scope"], need["scope_id"]) for need in denied["needed"]}
    assert needed == {
        ("admin", "tenant", tenant.id),
        ("org_admin", "organization", organization),
        ("project_admin", "project", tenant.project),
        ("member", "tenant", tenant.id),
        ("member", "organization", organization),
        ("member", "project", tenant.project),
    }
    me = (await viewer.get("/v1/me")).json
    assert me["role"] == "none"
    assert me["grants"] == [{"role": "viewer", "scope": "project", "scope_id": tenant.project}]


async def test_each_role_that_is_named_does_permit_it(central: Central, tenant: Tenant) -> None:
    someone = await tenant.admin.made("/v1/service-accounts", name="someone")
    asked = {"action": "allocation.release", "resource": tenant.project, "actor": someone["id"]}
    denied = (await tenant.admin.get("/v1/access/explain", **asked)).json
    assert len(denied["needed"]) == 6
    for need in denied["needed"]:
        place = {need["scope"]: need["scope_id"]}
        bound = await tenant.admin.made(
            "/v1/role-bindings", subject=someone["id"], role=need["role"], **place
        )
        allowed = (await tenant.admin.get("/v1/access/explain", **asked)).json
        assert allowed["allowed"], need
        await tenant.admin.delete(f"/v1/role-bindings/{bound['id']}")
    assert not (await tenant.admin.get("/v1/access/explain", **asked)).json["allowed"]


async def test_a_condition_that_does_not_hold_is_named(central: Central, tenant: Tenant) -> None:
    account = await tenant.admin.made("/v1/service-accounts", name="robot")
    key = await tenant.admin.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    await tenant.admin.made(
        "/v1/role-bindings", subject=account["id"], role="member", project="main",
        conditions={"second_factor": True},
    )  # fmt: skip
    robot = central.caller(key["token"])
    denied = await explain(robot, "allocation.create")
    assert not denied["allowed"]
    admin = tenant.admin
    told = await explain(admin, "allocation.create", resource=tenant.project, actor=account["id"])
    assert told["policies"] == ["a-binding-may-need-a-second-factor"]


async def test_things_are_named_as_elsewhere_if_that_says_which(
    central: Central, tenant: Tenant
) -> None:
    admin, platform = tenant.admin, central.platform
    research = await admin.made("/v1/organizations", name="research")
    fra = await platform.made("/v1/sites", name="fra")
    both = [await admin.made(f"/v1/{noun}s", name="both") for noun in ("organization", "project")]
    for api, action, name, id in (
        (admin, "allocation.create", "main", tenant.project),
        (admin, "project.create", "research", research["id"]),
        (admin, "tenant.view", "acme", tenant.id),
        (platform, "node.view", "fra", fra["id"]),
        (admin, "organization.view", "both", both[0]["id"]),
        (admin, "project.view", "both", both[1]["id"]),
    ):
        named = await explain(api, action, resource=name)
        assert named == await explain(api, action, resource=id), name
        assert named["resource"] == id
    twice = await admin.get("/v1/access/explain", action="allocation.create", resource="both")
    assert twice.status == 422
    assert "the name of a project and of an organization; use the id" in twice.json["detail"]
    await central.tenant("other")
    theirs = await admin.get("/v1/access/explain", action="tenant.view", resource="other")
    nobodys = await admin.get("/v1/access/explain", action="tenant.view", resource="nobod")
    assert (theirs.status, theirs.json["detail"].replace("other", "nobod")) == (
        nobodys.status, nobodys.json["detail"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("action", "instead"),
    [
        ("alocation.create", "did you mean allocation.create"),
        ("project.eat", "project."),
        ("nonsense", "an action is a noun and a verb"),
    ],
)
async def test_an_unknown_action_is_told_what_was_meant(
    tenant: Tenant, action: str, instead: str
) -> None:
    answer = await tenant.admin.get("/v1/access/explain", action=action)
    assert (answer.status, answer.code) == (422, "unknown_action")
    assert instead in answer.json["suggestion"]
    assert answer.json["suggestion"].count(".") < 20, "not all of them"


async def test_nothing_is_told_of_what_one_may_not_see(central: Central, tenant: Tenant) -> None:
    other = await central.tenant("other")
    theirs = await other.admin.made("/v1/service-accounts", name="robot")
    explained = "/v1/access/explain"
    for path in (
        f"{explained}?action=project.view&resource={other.project}",
        f"{explained}?action=project.view&actor={theirs['id']}",
        f"{explained}?action=project.view&actor=user_0",
        f"{explained}?action=project.view&resource=site_0",
    ):
        assert (await tenant.admin.get(path)).status == 404, path
    unknown = await tenant.admin.get(f"{explained}?action=project.eat")
    assert (unknown.status, unknown.code) == (422, "unknown_action")
    assert (await tenant.admin.get(f"{explained}?action=tenant.read")).status == 422  # a group
    assert (await tenant.admin.get(f"{explained}?action=sku.view&resource=x")).status == 422
