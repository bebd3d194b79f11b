"""Groups that are deleted: their roles end with them, whoever else is at work on them."""

import asyncio

import pytest

from .plane import Api, Central, Json, Tenant

pytestmark = pytest.mark.anyio


async def robot(central: Central, tenant: Tenant, name: str) -> tuple[str, Api]:
    """A program of the tenant without a role of its own."""
    account = await tenant.admin.made("/v1/service-accounts", name=name)
    key = await tenant.admin.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    return account["id"], central.caller(key["token"])


async def team(tenant: Tenant, *members: str, name: str = "team") -> Json:
    group = await tenant.admin.made("/v1/groups", name=name)
    await tenant.admin.made("/v1/role-bindings", subject=group["id"], role="viewer", project="main")
    for member in members:
        await tenant.admin.made(f"/v1/groups/{group['id']}/members", member=member)
    return group


async def left(central: Central, group: str) -> list[int]:
    """Rows that are left of it: itself, its members, what is bound to it."""
    counts = (
        "SELECT count(*) FROM groups WHERE id = $1",
        "SELECT count(*) FROM group_members WHERE group_id = $1",
        "SELECT count(*) FROM role_bindings WHERE subject_id = $1",
    )
    return [await central.value(sql, group) for sql in counts]


async def test_what_members_could_do_by_a_group_they_cannot_once_it_is_deleted(
    central: Central, tenant: Tenant
) -> None:
    one, first = await robot(central, tenant, "one")
    two, second = await robot(central, tenant, "two")
    group = await team(tenant, one, two)
    other = await team(tenant, two, name="other")
    for api in (first, second):
        assert (await api.get(f"/v1/projects/{tenant.project}")).status == 200
    gone = await tenant.admin.delete(f"/v1/groups/{group['id']}")
    assert gone.status == 200
    assert {member["id"] for member in gone.json["members"]} == {one, two}, "what it was"
    assert (await first.get(f"/v1/projects/{tenant.project}")).status == 404
    assert (await second.get(f"/v1/projects/{tenant.project}")).status == 200, "by the other group"
    assert await left(central, group["id"]) == [0, 0, 0]
    assert await left(central, other["id"]) == [1, 1, 1]
    for answer in (
        await tenant.admin.get(f"/v1/groups/{group['id']}"),
        await tenant.admin.delete(f"/v1/groups/{group['id']}"),
        await tenant.admin.post(f"/v1/groups/{group['id']}/members", member=one),
    ):
        assert (answer.status, answer.code) == (404, "not_found")
    bound = await tenant.admin.post("/v1/role-bindings", subject=group["id"], role="viewer")
    assert (bound.status, bound.code) == (422, "unknown_subject")
    again = await tenant.admin.made("/v1/groups", name="team")
    assert again["id"] != group["id"], "its name is free"


async def test_the_audit_log_keeps_what_a_deleted_group_was(
    central: Central, tenant: Tenant
) -> None:
    one, _ = await robot(central, tenant, "one")
    group = await team(tenant, one)
    (binding,) = (await tenant.admin.get(f"/v1/role-bindings?subject={group['id']}")).items
    await tenant.admin.delete(f"/v1/groups/{group['id']}")
    entries = await central.rows(
        "SELECT action, subject, tenant_id, detail->'before' AS before FROM audit_entries "
        "WHERE action IN ('group.delete', 'role.unbind') ORDER BY action"
    )
    was = {"name": "team", "members": [one], "roles": [binding["id"]]}
    assert entries == [
        {"action": "group.delete", "subject": group["id"], "tenant_id": tenant.id, "before": was},
        {
            "action": "role.unbind",
            "subject": binding["id"],
            "tenant_id": tenant.id,
            "before": None,
        },
    ]
    await central.until(group["id"], "group.deleted")
    await central.until(binding["id"], "role.unbound")


async def test_a_leaving_tenants_group_can_be_deleted(central: Central, tenant: Tenant) -> None:
    group = await team(tenant)
    await central.execute("UPDATE tenants SET status = 'offboarding'")
    assert (await tenant.admin.delete(f"/v1/groups/{group['id']}")).status == 200


async def test_what_is_bound_or_added_while_a_group_is_deleted_goes_with_it_or_is_refused(
    central: Central, tenant: Tenant
) -> None:
    """Whichever comes first: nothing is left, and nobody is told of an accident."""
    members = [(await robot(central, tenant, f"robot-{n}"))[0] for n in range(4)]
    outcomes: set[int] = set()
    for turn in range(6):
        group = (await team(tenant, name=f"team-{turn}"))["id"]
        deleting = tenant.admin.delete(f"/v1/groups/{group}")
        answers = await asyncio.gather(
            *(tenant.admin.post(f"/v1/groups/{group}/members", member=m) for m in members[:2]),
            tenant.admin.post("/v1/role-bindings", subject=group, role="member", project="main"),
            deleting,
            *(tenant.admin.post(f"/v1/groups/{group}/members", member=m) for m in members[2:]),
            tenant.admin.post("/v1/role-bindings", subject=group, role="finance"),
        )
        assert answers[3].status == 200
        outcomes |= {answer.status for answer in answers}
        assert await left(central, group) == [0, 0, 0]
    assert outcomes <= {200, 201, 404, 422}, outcomes
