"""A tenant that comes or goes is given nothing: no role, no group, no program. What its people and
programs have can be taken away all the same."""

from dataclasses import dataclass

import pytest

from .plane import Api, Central, Tenant

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Held:
    """What the tenant has before its status changes."""

    account: str
    disabled: str
    outsider: str
    group: str
    binding: str


@pytest.fixture
async def held(tenant: Tenant) -> Held:
    admin = tenant.admin
    account, disabled, outsider = [
        (await admin.made("/v1/service-accounts", name=name))["id"] for name in ("a", "b", "c")
    ]
    await admin.made(f"/v1/service-accounts/{disabled}/disable")
    group = (await admin.made("/v1/groups", name="team"))["id"]
    await admin.made(f"/v1/groups/{group}/members", member=account)
    bound = await admin.made("/v1/role-bindings", subject=account, role="viewer", project="main")
    return Held(account, disabled, outsider, group, bound["id"])


def giving(tenant: Tenant, held: Held) -> list[tuple[str, dict[str, object]]]:
    """Everything that gives someone of the tenant more than they have."""
    bind = {"subject": held.account, "role": "member"}
    return [
        ("/v1/role-bindings", {**bind, "tenant": tenant.id}),
        ("/v1/role-bindings", {**bind, "organization": "default"}),
        ("/v1/role-bindings", {**bind, "project": tenant.project}),
        ("/v1/groups", {"name": "new", "tenant": tenant.id}),
        (f"/v1/groups/{held.group}/members", {"member": held.outsider}),
        ("/v1/service-accounts", {"name": "new", "tenant": tenant.id}),
        (f"/v1/service-accounts/{held.account}/keys", {"name": "new"}),
        (f"/v1/service-accounts/{held.disabled}/enable", {}),
    ]


async def become(central: Central, status: str) -> None:
    await central.execute("UPDATE tenants SET status = $1", status)


async def taken(api: Api, held: Held) -> list[int]:
    """Everything that takes away."""
    answers = [
        await api.delete(f"/v1/role-bindings/{held.binding}"),
        await api.delete(f"/v1/groups/{held.group}/members/{held.account}"),
        await api.post(f"/v1/service-accounts/{held.account}/disable"),
    ]
    return [answer.status for answer in answers]


@pytest.mark.parametrize("status", ["onboarding", "offboarding", "offboarded"])
async def test_who_comes_or_goes_is_given_nothing_and_can_be_taken_from(
    central: Central, tenant: Tenant, held: Held, status: str
) -> None:
    await become(central, status)
    before = await central.value("SELECT count(*) FROM audit_entries WHERE action LIKE '%.create'")
    for path, body in giving(tenant, held):
        for api in (tenant.admin, central.platform):
            refused = await api.post(path, **body)
            assert (refused.status, refused.code) == (403, f"tenant_{status}"), (path, body)
        hidden = await tenant.member.post(path, **body)
        assert (hidden.status, hidden.code) == (403, "forbidden"), "no news for who may not anyway"
    after = await central.value("SELECT count(*) FROM audit_entries WHERE action LIKE '%.create'")
    assert after == before
    assert await taken(tenant.admin, held) == [200, 200, 200]


async def test_a_suspended_tenant_divides_its_roles_as_ever(
    central: Central, tenant: Tenant, held: Held
) -> None:
    await become(central, "suspended")
    for path, body in giving(tenant, held):
        assert (await tenant.admin.post(path, **body)).status in (200, 201), path
    assert await taken(tenant.admin, held) == [200, 200, 200]


async def test_the_platforms_own_have_no_status_to_heed(central: Central) -> None:
    account = await central.platform.made("/v1/service-accounts", name="robot")
    await central.platform.made("/v1/groups", name="team")
    await central.platform.made("/v1/role-bindings", subject=account["id"], role="platform_auditor")
