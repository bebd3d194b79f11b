"""R19 at the token and authorization endpoints: what is stolen, repeated or bent gets nothing."""

from collections.abc import AsyncGenerator

import pytest

from .plane import Central, Json
from .realm_stage import CALLBACK, CLI, Browser, Pkce, Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join("ann@acme.example", "admin")
    yield browser
    await browser.client.aclose()


async def sessions(realm: Realm) -> int:
    return await realm.central.value("SELECT count(*) FROM sessions WHERE ended_at IS NULL")


async def refresh(realm: Realm, client: Json, token: str, **more: str) -> tuple[int, Json]:
    answer = await realm.post(
        "token", (client["id"], client["secret"]), grant_type="refresh_token",
        refresh_token=token, **more,
    )  # fmt: skip
    return answer.status_code, answer.json()


async def test_a_code_is_good_once_and_its_second_use_ends_what_it_gave(
    realm: Realm, ann: Browser
) -> None:
    app, pkce = await realm.client(), Pkce()
    code = await realm.code(ann, app["id"], pkce)
    first = (await realm.redeem(app, code, pkce)).json()
    assert (await realm.api(first).get("/v1/me")).status == 200
    again = await realm.redeem(app, code, pkce)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert (await realm.api(first).get("/v1/me")).status == 401
    assert (await refresh(realm, app, first["refresh_token"]))[1]["error"] == "invalid_grant"


async def test_a_code_is_for_the_client_the_address_and_the_verifier_it_was_made_for(
    realm: Realm, ann: Browser
) -> None:
    app, other, pkce = await realm.client(), await realm.client(name="other"), Pkce()
    code = await realm.code(ann, app["id"], pkce)
    before = await sessions(realm)
    for client, changes in (
        (other, {}),
        (app, {"code_verifier": Pkce().verifier}),
        (app, {"code_verifier": pkce.challenge}),
        (app, {"code_verifier": ""}),
        (app, {"code_verifier": "short"}),
        (app, {"redirect_uri": "https://app.example/other"}),
        (app, {"redirect_uri": ""}),
        (app, {"code": code[:-1]}),
        (app, {"code": ""}),
        ({**app, "secret": other["secret"]}, {}),
        ({**app, "secret": "wrong"}, {}),
    ):
        form = {"code": code, **changes}
        answer = await realm.redeem(client, form.pop("code"), pkce, **form)
        assert answer.status_code in (400, 401), changes
        assert answer.json()["error"] in ("invalid_grant", "invalid_request", "invalid_client")
    without = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    for id in (app["id"], CLI):  # without its secret; as another one that has none
        form = {**without, "client_id": id, "code_verifier": pkce.verifier}
        assert (await realm.post("token", None, **form)).status_code in (400, 401)
    assert await sessions(realm) == before
    assert (await realm.redeem(app, code, pkce)).status_code == 200, "the right one still can"


async def test_a_code_runs_out_and_dies_with_the_browsers_session(
    realm: Realm, ann: Browser
) -> None:
    app, pkce = await realm.client(), Pkce()
    late = await realm.code(ann, app["id"], pkce)
    await realm.past("authorization_codes")
    assert (await realm.redeem(app, late, pkce)).json()["error"] == "invalid_grant"
    orphan = await realm.code(ann, app["id"], pkce)
    page = await ann.get("logout")
    await ann.submit(page, "logout")
    assert (await realm.redeem(app, orphan, pkce)).json()["error"] == "invalid_grant"


async def test_a_code_of_another_realm_is_nothing_here(realm: Realm, ann: Browser) -> None:
    globex = Realm(realm.central, await realm.central.tenant("globex"), "globex")
    app, pkce = await realm.client(), Pkce()
    code = await realm.code(ann, app["id"], pkce)
    theirs = await globex.client()
    for client in (theirs, app):
        answer = await globex.redeem(client, code, pkce)
        assert answer.json()["error"] in ("invalid_grant", "invalid_client")
    assert (await realm.redeem(app, code, pkce)).status_code == 200


ADDRESSES = (
    "https://app.example/callback/", "https://app.example/callback?x=1",
    "https://app.example/callback#x", "https://app.example/callback/../evil",
    "https://app.example.evil.example/callback", "https://app.example@evil.example/callback",
    "https://evil.example/callback", "http://app.example/callback",
    "https://APP.example/callback", "https://app.example:444/callback",
    "https://app.example/callback%00", "https://app.example\\@evil.example/callback",
    "//app.example/callback", "javascript:alert(1)", "data:text/html,x", "",
    "http://127.0.0.1/callback", "https://app.example/\u0441allback",
)  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
async def test_an_address_that_is_not_the_clients_is_never_sent_to(
    realm: Realm, ann: Browser, address: str
) -> None:
    app = await realm.client()
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), redirect_uri=address))
    assert (page.status, page.location) == (400, "")
    assert page.trouble


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("http://127.0.0.1:5123/callback", True),
        ("http://[::1]:5123/callback", True),
        ("http://127.0.0.1:5123/other", False),
        ("http://user@127.0.0.1:5123/callback", False),
        ("http://127.0.0.1.evil.example:5123/callback", False),
        ("http://localhost:5123/callback", False),
        ("https://127.0.0.1:5123/callback", False),
        ("http://127.0.0.2:5123/callback", False),
        ("http://127.0.0.1:x.evil.example/callback", False),
        ("http://127.0.0.1:0/callback", False),
        ("http://127.0.0.1:65536/callback", False),
        ("http://127.0.0.1:/callback", False),
        ("http://127.0.0.1;x:5123/callback", False),
    ],
)
async def test_the_command_line_listens_on_this_machine_at_any_port_and_is_always_asked_for(
    realm: Realm, ann: Browser, address: str, allowed: bool
) -> None:
    url = realm.authorize_url(CLI, Pkce(), redirect_uri=address)
    for _ in range(2):  # any program can say that it is the command line: consent is not kept
        page = await ann.get(url)
        assert page.status == (200 if allowed else 400)
        if allowed:
            query = page.field("query")
            done = await ann.submit(page, "authorize", query=query, decision="allow")
            assert done.location.startswith(f"{address}?code=")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"scope": "root"}, "invalid_scope"),
        ({"scope": "administer"}, "invalid_scope"),
        ({"prompt": "none login"}, "invalid_request"),
        ({"prompt": "dance"}, "invalid_request"),
        ({"prompt": "none"}, "consent_required"),
        ({"max_age": "x"}, "invalid_request"),
    ],
)
async def test_what_is_wrong_is_told_to_the_client_and_nothing_is_given(
    realm: Realm, ann: Browser, changes: dict[str, str | None], error: str
) -> None:
    app = await realm.client()
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), **changes))
    assert page.location.startswith(f"{CALLBACK}?")
    assert page.query["error"] == error
    assert page.query["state"] == "s-1"
    assert page.query["iss"] == realm.issuer
    assert "code" not in page.query


async def test_the_same_parameter_twice_is_refused(realm: Realm, ann: Browser) -> None:
    app = await realm.client()
    url = realm.authorize_url(app["id"], Pkce())
    page = await ann.get(f"{url}&redirect_uri=https%3A%2F%2Fevil.example")
    assert (page.status, page.location) == (400, "")


async def test_refusing_gives_nothing_and_consent_is_asked_for_once(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    page = await ann.get(realm.authorize_url(app["id"], Pkce()))
    query = page.field("query")
    refused = await ann.submit(page, "authorize", query=query, decision="refuse")
    assert (refused.query["error"], refused.query.get("code")) == ("access_denied", None)
    await realm.code(ann, app["id"], Pkce())
    again = await ann.get(realm.authorize_url(app["id"], Pkce()))
    assert "code" in again.query, "this was consented to"
    wider = await ann.get(realm.authorize_url(app["id"], Pkce(), scope="openid read use"))
    assert "decision" in wider.text, "more is asked for again"
    forced = await ann.get(realm.authorize_url(app["id"], Pkce(), prompt="consent"))
    assert "decision" in forced.text


async def test_login_is_asked_for_again_when_the_client_says_so(realm: Realm, ann: Browser) -> None:
    app = await realm.client()
    await realm.code(ann, app["id"], Pkce())
    page = await ann.get(realm.authorize_url(app["id"], Pkce(), prompt="login"))
    assert 'name="password"' in page.text
    done = await ann.log_in("ann@acme.example", page=page)
    assert "code" in done.query, "and not for ever"


async def test_a_refresh_token_is_good_once_and_its_second_use_ends_the_family(
    realm: Realm, ann: Browser
) -> None:
    app = await realm.client()
    first = await realm.tokens(ann, app)
    status, second = await refresh(realm, app, first["refresh_token"])
    assert status == 200
    assert second["refresh_token"] != first["refresh_token"]
    assert (await realm.api(second).get("/v1/me")).status == 200
    assert (await refresh(realm, app, first["refresh_token"]))[1]["error"] == "invalid_grant"
    assert (await refresh(realm, app, second["refresh_token"]))[1]["error"] == "invalid_grant"
    assert (await realm.api(second).get("/v1/me")).status == 401
    assert not await realm.central.violations()


async def test_a_refresh_token_is_for_its_client_and_never_for_more(
    realm: Realm, ann: Browser
) -> None:
    app, other = await realm.client(), await realm.client(name="other")
    tokens = await realm.tokens(ann, app)
    assert (await refresh(realm, other, tokens["refresh_token"]))[0] == 400
    wider = await refresh(realm, app, tokens["refresh_token"], scope="administer")
    assert (wider[0], wider[1]["error"]) == (400, "invalid_scope")
    by_access = await refresh(realm, app, tokens["access_token"])
    assert by_access[1]["error"] == "invalid_grant"
    status, narrower = await refresh(realm, app, tokens["refresh_token"], scope="openid")
    assert (status, narrower["scope"]) == (200, "openid")
    assert (await realm.api(narrower).get("/v1/projects")).status == 403


async def test_a_device_waits_is_let_in_once_and_only_by_its_own_client(
    realm: Realm, ann: Browser
) -> None:
    started = (await realm.post("device_authorization", client_id=CLI, scope="openid use")).json()
    assert (await realm.poll(started)).json()["error"] == "authorization_pending"
    assert (await realm.poll(started)).json()["error"] == "slow_down"
    kind = "urn:ietf:params:oauth:grant-type:device_code"
    other = await realm.client(grants=[kind], name="other")
    stolen = await realm.post(
        "token", (other["id"], other["secret"]), grant_type=kind,
        device_code=started["device_code"],
    )  # fmt: skip
    assert stolen.status_code == 400
    page = await ann.get("device", user_code=started["user_code"].lower().replace("-", ""))
    assert started["user_code"] in page.text
    await ann.submit(page, "device", user_code=page.field("user_code"), decision="allow")
    twice = await ann.get("device", user_code=started["user_code"])
    assert twice.status == 400
    tokens = await realm.poll(started)
    assert tokens.status_code == 200
    assert tokens.json()["scope"] == "openid use"
    assert (await realm.poll(started)).status_code == 400, "once"


async def test_a_device_that_is_refused_or_late_gets_nothing(realm: Realm, ann: Browser) -> None:
    started = (await realm.post("device_authorization", client_id=CLI)).json()
    page = await ann.get("device", user_code=started["user_code"])
    await ann.submit(page, "device", user_code=page.field("user_code"), decision="refuse")
    assert (await realm.poll(started)).json()["error"] == "access_denied"
    late = (await realm.post("device_authorization", client_id=CLI)).json()
    await realm.past("device_codes")
    assert (await realm.poll(late)).json()["error"] == "expired_token"
    assert (await ann.get("device", user_code=late["user_code"])).status == 400


async def test_a_client_acts_for_itself_with_its_role_and_its_scopes(realm: Realm) -> None:
    job = await realm.client(
        grants=["client_credentials"], redirect_uris=[], scopes=["openid", "read"], role="admin"
    )
    basic = (job["id"], job["secret"])
    answer = await realm.post("token", basic, grant_type="client_credentials")
    tokens = answer.json()
    assert answer.status_code == 200
    assert tokens["scope"] == "read", "it is nobody: it gets nobody's identity"
    assert "refresh_token" not in tokens
    api = realm.api(tokens)
    me = (await api.get("/v1/me")).json
    assert (me["kind"], me["role"], me["tenant"]) == ("client", "admin", realm.tenant.id)
    refused = await api.post("/v1/projects", name="x")
    assert (refused.status, refused.code) == (403, "forbidden")
    assert "scopes (read)" in refused.json["detail"]
    wider = await realm.post("token", basic, grant_type="client_credentials", scope="use")
    assert wider.json()["error"] == "invalid_scope"
    await realm.tenant.admin.made(f"/v1/clients/{job['id']}/disable")
    assert (await api.get("/v1/me")).status == 401
    again = await realm.post("token", basic, grant_type="client_credentials")
    assert again.status_code == 401


@pytest.mark.parametrize(
    "form",
    [
        {"grant_type": "client_credentials", "client_id": CLI},
        {"grant_type": "password", "client_id": CLI, "username": "a", "password": "b"},
        {"grant_type": "implicit", "client_id": CLI},
        {"grant_type": "gr\u00e4nt", "client_id": CLI},
        {"grant_type": 'x"y', "client_id": CLI},
        {"grant_type": "refresh_token", "client_id": CLI, "refresh_token": "pr_x"},
        {"grant_type": "refresh_token", "client_id": "nobody", "refresh_token": "pr_x"},
        {"grant_type": "refresh_token", "client_id": "\x00", "refresh_token": "\x00"},
        {"grant_type": "authorization_code", "client_id": CLI, "code": "x" * 9000},
        {"client_id": CLI},
        {},
    ],
)
async def test_what_is_not_offered_is_a_protocol_error(realm: Realm, form: dict[str, str]) -> None:
    answer = await realm.central.client.post(f"{realm.issuer}/token", data=form)
    assert answer.status_code in (400, 401), answer.text
    assert answer.json()["error"]


async def test_a_body_or_header_that_cannot_be_read_is_a_protocol_error(realm: Realm) -> None:
    url = f"{realm.issuer}/token"
    post = realm.central.client.post
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for content, headers in (
        (b'{"grant_type": "x"}', {"Content-Type": "application/json"}),
        (b"\xff\xfe", form),
        (b"grant_type=%FF", form),
        (b"&".join(b"a%d=1" % n for n in range(100)), form),
        (b"grant_type=x&grant_type=y", form),
        (b"grant_type=refresh_token", {**form, "Authorization": "Basic %%%"}),
        (b"grant_type=refresh_token", {**form, "Authorization": "Basic /////w=="}),
        (b"grant_type=refresh_token", {**form, "Authorization": "Basic YWJj"}),
    ):
        answer = await post(url, content=content, headers=headers)
        assert answer.status_code in (400, 401), content
        assert answer.json()["error"] in ("invalid_request", "invalid_client"), content


async def test_a_client_gives_back_its_tokens_and_only_its_own(realm: Realm, ann: Browser) -> None:
    app, other = await realm.client(), await realm.client(name="other")
    tokens = await realm.tokens(ann, app)
    own, foreign = (app["id"], app["secret"]), (other["id"], other["secret"])
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert (await realm.post("revoke", foreign, token=token)).status_code == 400
    assert (await realm.api(tokens).get("/v1/me")).status == 200
    seen = await realm.post("introspect", foreign, token=tokens["access_token"])
    assert seen.json()["active"]
    assert seen.json()["sub"] == (await realm.user("ann@acme.example"))["id"]
    back = await realm.post("revoke", own, token=tokens["access_token"])
    assert back.status_code == 200
    assert (await realm.api(tokens).get("/v1/me")).status == 401
    seen = await realm.post("introspect", foreign, token=tokens["access_token"])
    assert seen.json() == {"active": False}
    assert (await refresh(realm, app, tokens["refresh_token"]))[0] == 200, "only that one died"
    tokens = await realm.tokens(ann, app)
    seen = await realm.post("introspect", own, token=tokens["refresh_token"])
    assert seen.json()["token_type"] == "refresh_token"
    await realm.post("revoke", own, token=tokens["refresh_token"])
    assert (await realm.api(tokens).get("/v1/me")).status == 401, "a refresh token takes all along"
    unknown = await realm.post("revoke", own, token="pr_nothing")
    assert unknown.status_code == 200, "RFC 7009: what is not known is revoked already"
    public = await realm.post("introspect", client_id=CLI, token=tokens["access_token"])
    assert public.status_code in (400, 401)
