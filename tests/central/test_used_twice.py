"""What was used comes again: only from someone who could have used it does that end a session."""

from collections.abc import AsyncGenerator
from typing import Final

import pytest

from .plane import Central, Json
from .realm_stage import CALLBACK, CLI, Browser, Pkce, Realm

pytestmark = pytest.mark.anyio

DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
LOOPBACK: Final = "http://127.0.0.1:5123/callback"


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join("ann@acme.example", "admin")
    yield browser
    await browser.client.aclose()


async def works(realm: Realm, tokens: Json) -> bool:
    return (await realm.api(tokens).get("/v1/me")).status == 200


async def test_a_used_code_without_the_clients_secret_or_verifier_changes_nothing(
    realm: Realm, ann: Browser
) -> None:
    app, other, pkce = await realm.client(), await realm.client(name="other"), Pkce()
    code = await realm.code(ann, app["id"], pkce)
    tokens = (await realm.redeem(app, code, pkce)).json()
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    verifier = {"code_verifier": pkce.verifier}
    for basic, more in (
        (None, {"client_id": app["id"], **verifier}),
        (None, {"client_id": app["id"], "client_secret": "cs_wrong", **verifier}),
        (None, {"client_id": CLI, **verifier}),
        ((app["id"], "cs_wrong"), verifier),
        ((app["id"], other["secret"]), verifier),
        ((other["id"], other["secret"]), verifier),
        ((app["id"], app["secret"]), {}),
        ((app["id"], app["secret"]), {"code_verifier": Pkce().verifier}),
    ):
        answer = await realm.post("token", basic, **form, **more)
        assert answer.status_code in (400, 401), answer.text
        assert await works(realm, tokens), (basic, more)
    assert (await realm.redeem(app, code, pkce)).json()["error"] == "invalid_grant"
    assert not await works(realm, tokens), "the client itself shows that there are two of it"


async def test_a_used_code_of_a_public_client_counts_only_with_its_verifier(
    realm: Realm, ann: Browser
) -> None:
    pkce = Pkce()
    code = await realm.code(ann, CLI, pkce, redirect_uri=LOOPBACK)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": LOOPBACK}
    form |= {"client_id": CLI}
    tokens = (await realm.post("token", **form, code_verifier=pkce.verifier)).json()
    for verifier in (Pkce().verifier, pkce.challenge, "short"):
        answer = await realm.post("token", **form, code_verifier=verifier)
        assert answer.status_code == 400
    assert (await realm.post("token", **form)).status_code == 400
    assert await works(realm, tokens)
    await realm.post("token", **form, code_verifier=pkce.verifier)
    assert not await works(realm, tokens)


async def test_a_used_refresh_token_without_the_clients_secret_changes_nothing(
    realm: Realm, ann: Browser
) -> None:
    app, other = await realm.client(), await realm.client(name="other")
    first = await realm.tokens(ann, app)
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = (await realm.post("token", (app["id"], app["secret"]), **form)).json()
    for basic, more in (
        (None, {"client_id": app["id"]}),
        (None, {"client_id": CLI}),
        ((app["id"], "cs_wrong"), {}),
        ((other["id"], other["secret"]), {}),
    ):
        answer = await realm.post("token", basic, **form, **more)
        assert answer.status_code in (400, 401), answer.text
        assert await works(realm, second), (basic, more)
    await realm.post("token", (app["id"], app["secret"]), **form)
    assert not await works(realm, second)


async def test_nobody_without_the_secret_gives_back_polls_or_spends_for_a_client(
    realm: Realm, ann: Browser
) -> None:
    """Revocation and the device flow: a refused caller leaves no trace."""
    grants = ["authorization_code", "refresh_token", DEVICE]
    app = await realm.client(grants=grants)
    basic, wrong = (app["id"], app["secret"]), (app["id"], "cs_wrong")
    tokens = await realm.tokens(ann, app)
    started = (await realm.post("device_authorization", basic, scope="openid use")).json()
    form = {"grant_type": DEVICE, "device_code": started["device_code"]}
    for refused in (
        await realm.post("revoke", wrong, token=tokens["refresh_token"]),
        await realm.post("revoke", client_id=app["id"], token=tokens["refresh_token"]),
        await realm.post("revoke", client_id=CLI, token=tokens["refresh_token"]),
        await realm.post("revoke", wrong, token=tokens["access_token"]),
        *[await realm.post("token", wrong, **form) for _ in range(2)],
        *[await realm.post("token", client_id=app["id"], **form) for _ in range(2)],
    ):
        assert refused.status_code in (400, 401), refused.text
    assert await works(realm, tokens)
    polled = await realm.post("token", basic, **form)
    assert polled.json()["error"] == "authorization_pending", "nobody has polled so far"
    page = await ann.get("device", user_code=started["user_code"])
    await ann.submit(page, "device", user_code=page.field("user_code"), decision="allow")
    device = (await realm.post("token", basic, **form)).json()
    for answer in (await realm.post("token", wrong, **form), await realm.post("token", **form)):
        assert answer.status_code in (400, 401)
    assert await works(realm, device)
