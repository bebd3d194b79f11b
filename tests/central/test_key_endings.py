"""Personal keys end with what they came from: the client, the consent, the password, the person."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import pytest

from .plane import Api, Central, Json
from .realm_stage import Browser, Pkce, Realm
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio

ANN: Final = "ann@acme.example"
LEASE: Final[Json] = {"project": "main", "sku": "h100.slice", "gpus": 1}
SCOPES: Final = ["openid", "read", "use", "keys"]


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join(ANN, "member")
    yield browser
    await browser.client.aclose()


async def reset(realm: Realm, *, second_factor: bool) -> None:
    """Somebody who was sent the link chooses a new password."""
    user = (await realm.user(ANN))["id"]
    made = await realm.tenant.admin.made(f"/v1/users/{user}/reset", second_factor=second_factor)
    browser = Browser(realm.central, realm.name)
    page = await browser.get(made["url"])
    fields = {"token": page.field("token"), "full_name": "Ann", "password": "another long password"}
    assert (await browser.submit(page, "invitation", **fields)).status == 200
    await browser.client.aclose()


async def app_of(realm: Realm, ann: Browser, scope: str = "openid use keys") -> tuple[Json, Api]:
    """A client of somebody else's making, and what it holds after she let it in."""
    app = await realm.client(scopes=SCOPES)
    return app, realm.api(await realm.tokens(ann, app, scope=scope))


async def used(realm: Realm, api: Api, **key: object) -> Api:
    """A key that leased twice: from the second time on it is only recalled."""
    made = await api.made("/v1/keys", **{"name": "k", "scopes": ["use"], "days": 365, **key})
    key_api = realm.central.caller(made["token"])
    for _ in range(2):
        assert (await key_api.post("/v1/allocations", **LEASE)).status == 201
    return key_api


async def ended(realm: Realm, key: Api) -> None:
    """On both paths: the one that asks first, and the one that asks in the batch."""
    before = await realm.central.value("SELECT count(*) FROM allocations")
    assert (await key.post("/v1/allocations", **LEASE)).status == 401
    assert (await key.get("/v1/me")).status == 401
    assert await realm.central.value("SELECT count(*) FROM allocations") == before


@pytest.mark.parametrize("scope", ["read", "use", "administer"])
async def test_a_token_makes_keys_only_if_it_was_let_to(
    realm: Realm, ann: Browser, scope: str
) -> None:
    app = await realm.client(scopes=["openid", "read", "use", "administer"])
    api = realm.api(await realm.tokens(ann, app, scope=f"openid {scope}"))
    refused = await api.post("/v1/keys", name="k", scopes=["read"], days=365)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert "key.create_own" in refused.json["detail"]
    assert await realm.central.value("SELECT count(*) FROM api_keys WHERE user_id <> ''") == 0


async def test_a_consent_names_the_making_of_keys_and_a_key_has_no_more_than_the_token(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client(scopes=SCOPES)
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), scope="openid read keys"))
    assert "make keys" in page.text
    api = realm.api(await realm.tokens(ann, app, scope="openid read keys"))
    assert (await api.post("/v1/keys", name="k", scopes=["use"])).status == 403
    made = await api.made("/v1/keys", name="k", scopes=["read"], days=365)
    (listed,) = (await api.get("/v1/keys")).items
    assert (listed["id"], listed["client"]) == (made["id"], app["id"])
    key = realm.central.caller(made["token"])
    assert (await key.get("/v1/projects")).status == 200
    assert (await key.post("/v1/allocations", **LEASE)).status == 403
    assert (await key.post("/v1/keys", name="k2", scopes=["read"])).status == 403
    only = realm.api(await realm.tokens(ann, app, scope="openid keys"))
    assert (await only.post("/v1/keys", name="k", scopes=["read"])).status == 403
    assert (await only.post(f"/v1/keys/{made['id']}/revoke")).status == 200


async def test_a_key_ends_with_the_client_through_which_it_was_made(
    realm: Realm, site: StandInSite, ann: Browser
) -> None:
    app, api = await app_of(realm, ann)
    key = await used(realm, api)
    mine = await used(realm, realm.api(await realm.device(ann)))
    await realm.tenant.admin.made(f"/v1/clients/{app['id']}/disable")
    await ended(realm, key)
    assert (await mine.get("/v1/me")).status == 200, "what she made by other means is hers"
    shown = {k["client"]: k["revoked_at"] for k in (await mine.get("/v1/keys")).items}
    assert shown[app["id"]]
    assert not shown["penstock-cli"]


async def test_a_key_of_a_disabled_client_is_refused_even_if_nobody_ended_it(
    realm: Realm, site: StandInSite, ann: Browser
) -> None:
    _, api = await app_of(realm, ann)
    key = await used(realm, api)
    await realm.central.execute("UPDATE realm_clients SET disabled_at = now() WHERE name = 'app'")
    await ended(realm, key)


@pytest.mark.parametrize("second_factor", [False, True])
async def test_a_reset_ends_the_keys_that_were_made_before(
    realm: Realm, site: StandInSite, ann: Browser, second_factor: bool
) -> None:
    _, api = await app_of(realm, ann)
    keys = [await used(realm, api), await used(realm, realm.api(await realm.device(ann)))]
    await reset(realm, second_factor=second_factor)
    for key in keys:
        await ended(realm, key)
    audited = await realm.central.rows(
        "SELECT reason FROM audit_entries WHERE action = 'key.revoke'"
    )
    assert [row["reason"] for row in audited] == ["the password was reset"] * 2
    assert (await realm.tenant.member.get("/v1/me")).status == 200, "the tenant's own keys stay"


async def test_who_was_disabled_comes_back_without_the_keys_of_before(
    realm: Realm, site: StandInSite, ann: Browser
) -> None:
    key = await used(realm, realm.api(await realm.device(ann)))
    user = (await realm.user(ANN))["id"]
    for verb in ("disable", "enable"):
        await realm.tenant.admin.made(f"/v1/users/{user}/{verb}")
        await ended(realm, key)


async def test_personal_keys_are_of_no_use_while_the_realm_is_suspended(
    realm: Realm, site: StandInSite, ann: Browser
) -> None:
    key = await used(realm, realm.api(await realm.device(ann)))
    said = {"tenant": realm.tenant.id, "reason": "passwords were stolen"}
    await realm.central.platform.made("/v1/realm/suspend", **said)
    await ended(realm, key)
    assert (await realm.tenant.member.get("/v1/me")).status == 200, "the tenant's own keys work"
    await realm.central.platform.made("/v1/realm/resume", **said)
    assert (await key.get("/v1/me")).status == 200


async def test_no_key_is_made_by_a_session_that_ends_at_the_same_moment(
    realm: Realm, ann: Browser
) -> None:
    """The reset holds the person's row; who asks for a key meanwhile finds their session over."""
    api = realm.api(await realm.device(ann))
    user = (await realm.user(ANN))["id"]
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    async with realm.central.database.transaction() as resetting:
        await resetting.execute("SELECT FROM users WHERE id = $1 FOR UPDATE", user)
        asking = asyncio.create_task(api.post("/v1/keys", name="k", scopes=["use"], days=365))
        async with asyncio.timeout(20):
            while not await realm.central.value(waiting):
                pass  # the database tells nobody who waits for a lock
        await resetting.execute("UPDATE sessions SET ended_at = now(), ended_reason = 'reset'")
        await resetting.execute("UPDATE api_keys SET revoked_at = now() WHERE user_id = $1", user)
    answer = await asking
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert await realm.central.value("SELECT count(*) FROM api_keys WHERE user_id = $1", user) == 0


async def test_the_account_page_lists_keys_and_ends_them(realm: Realm, ann: Browser) -> None:
    _, api = await app_of(realm, ann)
    cli = realm.api(await realm.device(ann))
    mine = await cli.made("/v1/keys", name="for-ci", scopes=["use"], days=30)
    await api.made("/v1/keys", name="by-an-app", scopes=["use"], days=365)
    bob = await realm.join("bob@acme.example")
    others = await realm.api(await realm.device(bob)).made("/v1/keys", name="of-bob", days=1)
    page = await ann.get("account")
    assert "for-ci" in page.text
    assert "by-an-app" in page.text
    assert "of-bob" not in page.text
    assert mine["token"] not in page.text
    key = realm.central.caller(mine["token"])
    page = await ann.submit(page, "account/keys/end", key=mine["id"])
    assert "for-ci" not in page.text
    assert (await key.get("/v1/me")).status == 401
    await ann.submit(page, "account/keys/end", key=others["id"])
    assert (await realm.central.caller(others["token"]).get("/v1/me")).status == 200
    await bob.client.aclose()


async def test_taking_a_consent_back_ends_all_that_the_client_has(
    realm: Realm, site: StandInSite, ann: Browser
) -> None:
    app, api = await app_of(realm, ann)
    key = await used(realm, api)
    asked = realm.authorize_url(app["id"], Pkce(), scope="openid use keys")
    assert (await ann.get(asked)).query["code"], "she is not asked twice"
    page = await ann.get("account")
    assert "app" in page.text
    page = await ann.submit(page, "account/clients/end", client=app["id"])
    assert page.status == 200
    assert (await api.get("/v1/me")).status == 401
    await ended(realm, key)
    page = await ann.get(asked)
    assert "Let app in?" in page.text, "she is asked again"
    assert 'name="client"' not in (await ann.get("account")).text
