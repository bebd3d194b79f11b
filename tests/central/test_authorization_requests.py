"""Each parameter of an authorization request is done, refused, or passed over by the standard."""

from collections.abc import AsyncGenerator
from typing import Final
from urllib.parse import urlencode

import pytest

from penstock.central.realms.grants import requests

from .plane import Central
from .realm_stage import CALLBACK, CLI, Browser, Pkce, Realm

pytestmark = pytest.mark.anyio

# OpenID Connect Core 1.0, 3.1.2.1, 5.2, 5.5, 6 and 7.2.1; RFC 7636.
CORE: Final = frozenset(
    {
        "scope", "response_type", "client_id", "redirect_uri", "state", "response_mode", "nonce",
        "display", "prompt", "max_age", "ui_locales", "id_token_hint", "login_hint", "acr_values",
        "claims_locales", "claims", "request", "request_uri", "registration", "code_challenge",
        "code_challenge_method",
    }
)  # fmt: skip
REFUSED: Final = [
    ({"request": "eyJhbGciOiJub25lIn0.e30."}, "request_not_supported"),
    ({"request_uri": "https://app.example/request.jwt"}, "request_uri_not_supported"),
    ({"request_uri": "urn:ietf:params:oauth:request_uri:x"}, "request_uri_not_supported"),
    ({"registration": "{}"}, "registration_not_supported"),
    ({"response_mode": "form_post"}, "invalid_request"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"response_mode": "query.jwt"}, "invalid_request"),
    ({"response_mode": "x"}, "invalid_request"),
    ({"prompt": "create"}, "invalid_request"),
    ({"prompt": "none login", "scope": "use"}, "invalid_request"),
    ({"max_age": "-1"}, "invalid_request"),
    ({"id_token_hint": "a.b.c"}, "invalid_request"),
    ({"id_token_hint": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."}, "invalid_request"),
]


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join("ann@acme.example", "admin")
    yield browser
    await browser.client.aclose()


def test_something_is_decided_about_every_parameter_there_is() -> None:
    decided = (requests.DONE, requests.PASSED_OVER, frozenset(requests.REFUSED))
    assert frozenset[str]().union(*decided) == CORE
    assert sum(map(len, decided)) == len(CORE), "one thing about each"


async def test_what_would_change_the_meaning_of_a_request_is_refused(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    stranger = Browser(realm.central, realm.name)
    for changes, error in REFUSED:
        for browser in (ann, stranger):
            page = await browser.get(realm.authorize_url(app["id"], Pkce(), **changes))
            assert page.location.startswith(f"{CALLBACK}?"), changes
            assert (page.query["error"], page.query["state"]) == (error, "s-1"), changes
            assert page.query["iss"] == realm.issuer
            assert "code" not in page.query
    evil = realm.authorize_url(app["id"], Pkce(), request="x", redirect_uri="https://evil.example")
    page = await ann.get(evil)
    assert (page.status, page.location) == (400, ""), "refusals go only where the client is"
    await stranger.client.aclose()


async def test_what_the_standard_lets_an_issuer_pass_over_changes_nothing(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    await realm.code(ann, app["id"], Pkce())
    wishes = dict.fromkeys(requests.PASSED_OVER, "x")
    for changes in (wishes, {"never_heard_of": "x"}, {"request": ""}, {"response_mode": "query"}):
        page = await ann.get(realm.authorize_url(app["id"], Pkce(), **changes))
        assert "code" in page.query, changes


async def test_every_parameter_is_there_once_or_the_request_is_refused(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    url = realm.authorize_url(app["id"], Pkce())
    for name in sorted(CORE | {"never_heard_of"}):
        page = await ann.get(f"{url}&{name}=a&{name}=a")
        assert (page.status, page.location) == (400, ""), name
    post = realm.central.client.post
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in ("token", "device_authorization", "revoke", "introspect"):
        body = b"client_id=penstock-cli&x=1&x=1"
        answer = await post(f"{realm.issuer}/{path}", content=body, headers=form)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request"), path
    page = await ann.get(url)
    kept = {"csrf": page.field("csrf"), "query": page.field("query")}
    twice = f"{urlencode(kept)}&decision=refuse&decision=allow"
    answered = await ann.client.post(f"{ann.realm}/authorize", content=twice, headers=form)
    assert (answered.status_code, "location" in answered.headers) == (400, False)


async def test_a_client_says_who_it_is_in_one_way_and_in_the_body(realm: Realm) -> None:
    job = await realm.client(
        grants=["client_credentials"], redirect_uris=[], scopes=["read"], role="admin"
    )
    basic, asked = (job["id"], job["secret"]), {"grant_type": "client_credentials"}
    for more, error in (
        ({"client_secret": job["secret"]}, "invalid_request"),
        ({"client_id": CLI}, "invalid_request"),
        ({"client_assertion": "a.b.c"}, "invalid_client"),
        ({"client_assertion_type": "x"}, "invalid_client"),
    ):
        answer = await realm.post("token", basic, **asked, **more)
        assert (answer.status_code, answer.json()["error"]) == (400, error), more
    secret = {"client_id": job["id"], "client_secret": job["secret"]}
    url = f"{realm.issuer}/token"
    in_address = await realm.central.client.post(url, params=secret, data=asked)
    assert in_address.json()["error"] == "invalid_request"
    assert (await realm.post("token", basic, **asked, client_id=job["id"])).status_code == 200


async def test_a_device_is_refused_what_it_cannot_have(realm: Realm) -> None:
    for name, error in requests.REFUSED.items():
        form = {"client_id": CLI, "scope": "openid", name: "x", "redirect_uri": CALLBACK}
        answer = await realm.post("device_authorization", **form)
        assert (answer.status_code, answer.json()["error"]) == (400, error)
        assert "location" not in answer.headers


async def test_discovery_says_what_is_not_supported(realm: Realm) -> None:
    url = f"{realm.issuer}/.well-known/openid-configuration"
    found = (await realm.central.client.get(url)).json()
    for name in ("request_parameter", "request_uri_parameter", "claims_parameter"):
        assert found[f"{name}_supported"] is False
    assert found["response_modes_supported"] == ["query"]
    assert found["prompt_values_supported"] == ["none", "login", "consent", "select_account"]


async def test_a_client_that_means_someone_gets_them_or_nobody(realm: Realm, ann: Browser) -> None:
    app, other = await realm.client(), await realm.client(name="other")
    hint = (await realm.tokens(ann, app))["id_token"]
    url = realm.authorize_url(app["id"], Pkce(), id_token_hint=hint)
    assert "code" in (await ann.get(url)).query
    bob = await realm.join("bob@acme.example")
    await realm.code(bob, app["id"], Pkce())
    silent = realm.authorize_url(app["id"], Pkce(), id_token_hint=hint, prompt="none")
    assert (await ann.get(silent)).query.get("code")
    assert (await bob.get(silent)).query["error"] == "login_required"
    page = await bob.get(url)
    assert 'name="password"' in page.text, "perhaps it is Ann who sits there"
    assert (await bob.log_in("bob@acme.example", page=page)).query["error"] == "login_required"
    done = await bob.log_in("ann@acme.example", page=await bob.get(url))
    assert "code" in done.query
    theirs = realm.authorize_url(other["id"], Pkce(), id_token_hint=hint)
    assert (await ann.get(theirs)).query["error"] == "invalid_request", "it is not that client's"
    access = (await realm.tokens(ann, app))["access_token"]
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), id_token_hint=access))
    assert page.query["error"] == "invalid_request"
    await bob.client.aclose()


async def test_choosing_an_account_is_signing_in_and_silence_is_kept_without_openid(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), prompt="select_account"))
    assert 'name="password"' in page.text
    stranger = Browser(realm.central, realm.name)
    silent = realm.authorize_url(app["id"], Pkce(), prompt="none", scope="use", nonce=None)
    assert (await stranger.get(silent)).query["error"] == "login_required"
    await stranger.client.aclose()
