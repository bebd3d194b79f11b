"""Personal API keys: their owner's, within scopes, until a day."""

import pytest

from .plane import Central
from .realm_stage import Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


async def test_a_personal_key_does_what_its_owner_may_within_its_scopes(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example", "admin")
    api = realm.api(await realm.device(browser))
    keys = {
        scope: realm.central.caller(
            (await api.made("/v1/keys", name=scope, scopes=[scope], days=1))["token"]
        )
        for scope in ("read", "use", "administer")
    }
    lease = {"project": "nothing", "sku": "nothing"}
    for scope, statuses in {
        "read": (200, 403, 403),
        "use": (200, 404, 403),  # may ask: there is no such project
        "administer": (200, 404, 201),
    }.items():
        key = keys[scope]
        answers = [
            await key.get("/v1/projects"),
            await key.post("/v1/allocations", project=realm.tenant.project, sku="none")
            if scope == "read"
            else await key.post("/v1/allocations", **lease),
            await key.post("/v1/projects", name=f"by-{scope}"),
        ]
        assert tuple(answer.status for answer in answers) == statuses, scope
    await browser.client.aclose()


async def test_a_key_cannot_be_wider_than_the_token_that_makes_it(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example", "admin")
    narrow = realm.api(await realm.device(browser, "openid use keys"))
    assert (await narrow.post("/v1/keys", name="k", scopes=["use"], days=1)).status == 201
    wider = await narrow.post("/v1/keys", name="k", scopes=["administer"], days=1)
    assert (wider.status, wider.code) == (403, "forbidden")
    nothing = realm.api(await realm.device(browser, "openid keys"))
    assert (await nothing.post("/v1/keys", name="k", scopes=["read"], days=1)).status == 403
    await browser.client.aclose()


async def test_a_key_ends_when_its_day_comes_or_its_owner_says(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example")
    api = realm.api(await realm.device(browser))
    made = await api.made("/v1/keys", name="k", scopes=["read"], days=1)
    key = realm.central.caller(made["token"])
    assert (await key.get("/v1/me")).json["role"] == "member"
    listed = (await api.get("/v1/keys")).items
    assert [item["id"] for item in listed] == [made["id"]], "one's own, not the tenant's"
    assert "token" not in listed[0]
    assert (await api.post(f"/v1/keys/{made['id']}/revoke")).status == 200
    assert (await key.get("/v1/me")).status == 401
    late = realm.central.caller(
        (await api.made("/v1/keys", name="late", scopes=["read"], days=1))["token"]
    )
    assert (await late.get("/v1/me")).status == 200
    await realm.past("api_keys")
    assert (await late.get("/v1/me")).status == 401
    await browser.client.aclose()


async def test_a_personal_key_knows_whose_it_is(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example")
    api = realm.api(await realm.device(browser))
    made = [await api.made("/v1/keys", name=f"k{n}", scopes=["read"], days=1) for n in range(2)]
    key = realm.central.caller(made[0]["token"])
    listed = {item["id"] for item in (await key.get("/v1/keys")).items}
    assert listed == {item["id"] for item in made}
    user = (await realm.user("ann@acme.example"))["id"]
    assert {item["user"] for item in (await key.get("/v1/sessions")).items} == {user}
    other = await key.post(f"/v1/keys/{made[1]['id']}/revoke")
    assert (other.status, other.code) == (403, "forbidden"), "it may only read"
    assert (await key.post(f"/v1/keys/{made[0]['id']}/revoke")).status == 200, "but give itself up"
    assert (await key.get("/v1/me")).status == 401
    assert (await realm.central.caller(made[1]["token"]).get("/v1/me")).status == 200
    await browser.client.aclose()


async def test_a_key_of_nobodys_has_nothing_of_its_own(realm: Realm) -> None:
    """A tenant's key is the tenant's: it lists no person's things, and does not end itself."""
    viewer = realm.tenant.viewer
    browser = await realm.join("ann@acme.example")
    await realm.api(await realm.device(browser)).made("/v1/keys", name="k", days=1)
    assert (await viewer.get("/v1/keys")).items == []
    assert (await viewer.get("/v1/sessions")).items == []
    own = (await viewer.get("/v1/me")).json["id"]
    assert (await viewer.post(f"/v1/keys/{own}/revoke")).status == 403
    await browser.client.aclose()


async def test_a_personal_key_is_no_way_around_what_one_cannot_do_to_oneself(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example", "admin")
    api = realm.api(await realm.device(browser))
    made = await api.made("/v1/keys", name="k", scopes=["administer"], days=1)
    key = realm.central.caller(made["token"])
    user = (await realm.user("ann@acme.example"))["id"]
    changed = await key.send("PATCH", f"/v1/users/{user}", json={"role": "viewer"})
    assert (changed.status, changed.code) == (409, "conflict")
    assert (await key.post(f"/v1/users/{user}/disable")).status == 409
    await browser.client.aclose()


@pytest.mark.parametrize(
    ("scope", "statuses"),
    [("read", (403, 403)), ("use", (200, 200)), ("administer", (200, 200)), ("keys", (200, 404))],
)
async def test_to_end_what_is_ones_own_takes_a_token_that_may_change_something(
    realm: Realm, scope: str, statuses: tuple[int, int]
) -> None:
    browser = await realm.join("ann@acme.example")
    whole = realm.api(await realm.device(browser))
    made = await whole.made("/v1/keys", name="k", scopes=["read"], days=1)
    session = next(s for s in (await whole.get("/v1/sessions")).items if s["kind"] == "browser")
    narrow = realm.api(await realm.device(browser, f"openid {scope}"))
    key = await narrow.post(f"/v1/keys/{made['id']}/revoke")
    ended = await narrow.post(f"/v1/sessions/{session['id']}/revoke")
    assert (key.status, ended.status) == statuses
    await browser.client.aclose()


@pytest.mark.parametrize(
    "body",
    [
        {"name": "k", "scopes": []},
        {"name": "k", "scopes": ["root"]},
        {"name": "k", "days": 0},
        {"name": "k", "days": 366},
        {"name": "K"},
    ],
)
async def test_a_key_that_cannot_be_is_refused(realm: Realm, body: dict[str, object]) -> None:
    answer = await realm.tenant.admin.post("/v1/keys", **body)
    assert (answer.status, answer.code) == (422, "invalid")
