"""Roles bound to clients of a realm that act for themselves."""

import asyncpg
import pytest

from .plane import Api, Central, Json, Tenant
from .realm_stage import Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
def realm(central: Central, tenant: Tenant) -> Realm:
    return Realm(central, tenant, "acme")


async def robot(realm: Realm, role: str = "none") -> Json:
    return await realm.client(
        name="robot", redirect_uris=[], grants=["client_credentials"], scopes=["use"], role=role
    )


async def token(realm: Realm, client: Json) -> Api:
    answer = await realm.post(
        "token", (client["id"], client["secret"]), grant_type="client_credentials", scope="use"
    )
    assert answer.status_code == 200, answer.text
    return realm.api(answer.json())


async def projects(api: Api) -> list[str]:
    return [item["id"] for item in (await api.get("/v1/projects")).items]


async def test_a_client_has_its_own_role_and_what_is_bound_to_it(realm: Realm) -> None:
    admin = realm.tenant.admin
    await admin.made("/v1/projects", name="secret")
    client = await robot(realm)
    api = await token(realm, client)
    assert (await api.get("/v1/projects")).status == 403
    body = {"subject": client["id"], "role": "member", "project": "main"}
    binding = await admin.made("/v1/role-bindings", **body)
    assert (binding["subject_kind"], binding["tenant"]) == ("client", realm.tenant.id)
    assert await projects(api) == [realm.tenant.project], "with the token that it has"
    explained = await admin.get(
        f"/v1/access/explain?action=allocation.create&resource={realm.tenant.project}"
        f"&actor={client['id']}"
    )
    assert explained.json["allowed"] is True
    assert (await admin.delete(f"/v1/role-bindings/{binding['id']}")).status == 200
    assert (await api.get("/v1/projects")).status == 403
    whole = await token(realm, await robot(realm, "viewer"))
    assert len(await projects(whole)) == 2, "its role in all of the tenant"


async def test_a_bound_client_that_is_disabled_does_nothing(realm: Realm) -> None:
    client = await robot(realm)
    api = await token(realm, client)
    await realm.tenant.admin.made("/v1/role-bindings", subject=client["id"], role="viewer")
    assert (await api.get("/v1/projects")).status == 200
    await realm.tenant.admin.made(f"/v1/clients/{client['id']}/disable")
    assert (await api.get("/v1/projects")).status == 401


async def test_what_a_client_may_is_not_what_people_may_who_use_it(realm: Realm) -> None:
    """A program that is both: its own tokens have its roles, people's have theirs."""
    grants = ["client_credentials", "authorization_code", "refresh_token"]
    client = await realm.client(grants=grants, scopes=["openid", "use"], role="none")
    await realm.tenant.admin.made("/v1/role-bindings", subject=client["id"], role="admin")
    ann = await realm.join("ann@acme.example", "none")
    people = realm.api(await realm.tokens(ann, client, scope="openid use"))
    assert (await people.get("/v1/projects")).status == 403
    assert await projects(await token(realm, client)) == [realm.tenant.project]
    await ann.client.aclose()


async def test_nothing_is_bound_to_a_client_that_acts_only_for_people_or_is_anothers(
    realm: Realm,
) -> None:
    other = Realm(realm.central, await realm.central.tenant("other"), "other")
    theirs = await robot(other)
    for subject in ((await realm.client())["id"], "penstock-cli", theirs["id"]):
        for api in (realm.tenant.admin, realm.central.platform):
            refused = await api.post(
                "/v1/role-bindings", subject=subject, role="viewer", project=realm.tenant.project
            )
            assert (refused.status, refused.code) == (422, "unknown_subject"), subject
    insert = (
        "INSERT INTO role_bindings (id, tenant_id, subject, subject_id, role, scope, scope_id, "
        "created_by, created_at) VALUES ('binding_x', $1, 'client', $2, $3, $4, $5, 'x', now())"
    )
    for arguments in (
        (realm.tenant.id, theirs["id"], "viewer", "tenant", realm.tenant.id),
        (None, theirs["id"], "platform_auditor", "platform", "platform"),
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await realm.central.execute(insert, *arguments)
