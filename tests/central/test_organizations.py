"""Tenant, organization, project: each project is in one, and none crosses a tenant."""

import asyncpg
import pytest

from .plane import Central, Tenant

pytestmark = pytest.mark.anyio


async def test_a_tenant_is_made_with_its_default_organization(
    central: Central, tenant: Tenant
) -> None:
    (organization,) = (await tenant.viewer.get("/v1/organizations")).items
    assert (organization["name"], organization["tenant"]) == ("default", tenant.id)
    assert organization["id"].startswith("org_")
    project = (await tenant.viewer.get(f"/v1/projects/{tenant.project}")).json
    assert project["organization"] == organization["id"]


async def test_a_project_goes_where_it_is_put(central: Central, tenant: Tenant) -> None:
    made = await tenant.admin.made("/v1/organizations", name="research")
    for reference in (made["id"], "research"):
        name = f"in-{reference[:3]}"
        project = await tenant.admin.made("/v1/projects", name=name, organization=reference)
        assert project["organization"] == made["id"]
    assert (await tenant.viewer.get("/v1/organizations/research")).json == made


async def test_another_tenants_organization_takes_no_project(
    central: Central, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    theirs = await other.admin.made("/v1/organizations", name="secret")
    for caller in (tenant.admin, central.platform):
        for reference in (theirs["id"], "secret"):
            refused = await caller.post(
                "/v1/projects", name="x", tenant=tenant.id, organization=reference
            )
            assert (refused.status, refused.code) == (422, "unknown_organization")
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await central.execute(
            "INSERT INTO projects VALUES ('project_x', $1, $2, 'x', now())", tenant.id, theirs["id"]
        )


async def test_the_same_name_may_be_used_by_two_tenants(central: Central, tenant: Tenant) -> None:
    other = await central.tenant("other")
    mine = await tenant.admin.made("/v1/organizations", name="research")
    theirs = await other.admin.made("/v1/organizations", name="research")
    assert mine["id"] != theirs["id"]
    ambiguous = await central.platform.get("/v1/organizations/research")
    assert (ambiguous.status, ambiguous.code) == (422, "invalid")
    assert (await tenant.viewer.get("/v1/organizations/research")).json["id"] == mine["id"]
