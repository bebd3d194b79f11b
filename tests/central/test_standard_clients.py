"""OIDC from outside: client libraries that know nothing of us complete every flow."""

# Neither library has complete types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportAttributeAccessIssue=false

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry
from oauthlib.oauth2 import BackendApplicationClient, DeviceClient, WebApplicationClient
from requests_oauthlib import OAuth2Session as OAuthlibSession

from penstock.central.realms.keys.service import Keyring
from penstock.kernel import sealing
from penstock_contracts.ids import TenantId

from .plane import Central, Json
from .realm_stage import CALLBACK, CLI, Browser, Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join("ann@acme.example", "admin")
    yield browser
    await browser.client.aclose()


@pytest.fixture(autouse=True)
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """oauthlib refuses http even to this machine, unless it is told."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


async def discover(realm: Realm) -> Json:
    answer = await realm.central.client.get(f"{realm.issuer}/.well-known/openid-configuration")
    assert answer.status_code == 200
    return answer.json()


async def allow(browser: Browser, url: str) -> str:
    """The person at the browser signs the client in; where they are sent back to."""
    page = await browser.get(url)
    if not page.location:
        query = page.field("query")
        page = await browser.submit(page, "authorize", query=query, decision="allow")
    assert page.location.startswith(CALLBACK)
    return page.location


async def verified(realm: Realm, client: str, token: str, nonce: str | None = None) -> Json:
    """An id token as a careful client checks it."""
    found = await discover(realm)
    keys = (await realm.central.client.get(found["jwks_uri"])).json()
    decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=["ES256"])
    rules: dict[str, Any] = {
        "iss": {"essential": True, "value": realm.issuer},
        "aud": {"essential": True, "value": client},
        "exp": {"essential": True},
    }
    if nonce is not None:
        rules["nonce"] = {"essential": True, "value": nonce}
    JWTClaimsRegistry(**rules).validate(decoded.claims)
    return decoded.claims


async def test_discovery_is_valid_and_every_endpoint_is_there(realm: Realm) -> None:
    found = await discover(realm)
    # The one thing in which we differ: RS256, which every issuer must offer, is not offered.
    signing = found["id_token_signing_alg_values_supported"]
    assert signing == ["ES256"]
    OpenIDProviderMetadata(
        {**found, "id_token_signing_alg_values_supported": ["RS256", *signing]}
    ).validate()
    AuthorizationServerMetadata(found).validate()
    assert found["issuer"] == realm.issuer
    second = await realm.central.client.get(f"{realm.base}{get_well_known_url(realm.issuer)}")
    assert second.json() == found
    for name, url in found.items():
        if name.endswith("_endpoint") or name == "jwks_uri":
            answer = await realm.central.client.request(
                "GET" if name in ("jwks_uri", "end_session_endpoint") else "POST", url
            )
            assert answer.status_code not in (404, 405), name
    keys = (await realm.central.client.get(found["jwks_uri"])).json()["keys"]
    assert len(keys) == 2, "the one that signs, and the next"
    assert all(set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"} for key in keys)


async def test_authlibs_client_completes_code_with_pkce_refresh_and_revocation(
    realm: Realm, ann: Browser
) -> None:
    app, found = await realm.client(), await discover(realm)
    session = OAuth2Session(
        app["id"], app["secret"], scope="openid profile email use", redirect_uri=CALLBACK,
        code_challenge_method="S256", token_endpoint=found["token_endpoint"],
    )  # fmt: skip
    verifier = "v" * 64
    url, state = session.create_authorization_url(
        found["authorization_endpoint"], code_verifier=verifier, nonce="n-7"
    )
    back = await allow(ann, url)
    token: Json = await asyncio.to_thread(
        session.fetch_token, found["token_endpoint"], authorization_response=back, state=state,
        code_verifier=verifier,
    )  # fmt: skip
    claims = await verified(realm, app["id"], token["id_token"], "n-7")
    assert (claims["email"], claims["name"]) == ("ann@acme.example", "ann")
    about = await asyncio.to_thread(session.get, found["userinfo_endpoint"])
    assert about.json()["sub"] == claims["sub"]
    renewed: Json = await asyncio.to_thread(
        session.refresh_token, found["token_endpoint"], token["refresh_token"]
    )
    assert (await realm.api(renewed).get("/v1/me")).json["id"] == claims["sub"]
    seen = await asyncio.to_thread(
        session.introspect_token, found["introspection_endpoint"], renewed["access_token"]
    )
    assert seen.json()["active"] is True
    given_back = await asyncio.to_thread(
        session.revoke_token, found["revocation_endpoint"], renewed["refresh_token"]
    )
    assert given_back.status_code == 200
    assert (await realm.api(renewed).get("/v1/me")).status == 401


async def test_oauthlibs_client_completes_code_with_pkce(realm: Realm, ann: Browser) -> None:
    app, found = await realm.client(), await discover(realm)
    session = OAuthlibSession(
        client=WebApplicationClient(app["id"]), redirect_uri=CALLBACK, scope=["openid", "use"],
        pkce="S256",
    )  # fmt: skip
    url, _ = session.authorization_url(found["authorization_endpoint"])
    back = await allow(ann, url)
    token: Json = await asyncio.to_thread(
        session.fetch_token, found["token_endpoint"], authorization_response=back,
        client_secret=app["secret"], include_client_id=None,
    )  # fmt: skip
    await verified(realm, app["id"], token["id_token"])
    me = await asyncio.to_thread(session.get, f"{realm.base}/v1/me")
    assert me.json()["kind"] == "user"


async def test_both_clients_complete_client_credentials(realm: Realm) -> None:
    job = await realm.client(grants=["client_credentials"], scopes=["read"], role="viewer")
    url = (await discover(realm))["token_endpoint"]
    one = OAuth2Session(job["id"], job["secret"], scope="read")
    token: Json = await asyncio.to_thread(one.fetch_token, url, grant_type="client_credentials")
    assert (await realm.api(token).get("/v1/me")).json["kind"] == "client"
    other = OAuthlibSession(client=BackendApplicationClient(job["id"], scope=["read"]))
    token = await asyncio.to_thread(
        other.fetch_token, url, client_id=job["id"], client_secret=job["secret"]
    )
    assert (await realm.api(token).get("/v1/me")).json["id"] == job["id"]


async def test_both_clients_complete_the_device_flow(realm: Realm, ann: Browser) -> None:
    found = await discover(realm)
    kind = "urn:ietf:params:oauth:grant-type:device_code"

    async def start() -> Json:
        url = found["device_authorization_endpoint"]
        answer = await realm.central.client.post(
            url, data={"client_id": CLI, "scope": "openid use"}
        )
        page = await ann.get(answer.json()["verification_uri_complete"])
        await ann.submit(page, "device", user_code=page.field("user_code"), decision="allow")
        return answer.json()

    started = await start()
    one = OAuth2Session(CLI, token_endpoint_auth_method="none")
    token: Json = await asyncio.to_thread(
        one.fetch_token, found["token_endpoint"], grant_type=kind,
        device_code=started["device_code"],
    )  # fmt: skip
    assert (await realm.api(token).get("/v1/me")).json["kind"] == "user"
    await verified(realm, CLI, token["id_token"])
    started = await start()
    device = DeviceClient(CLI, scope=["openid", "use"])
    body = device.prepare_request_body(started["device_code"], include_client_id=True)
    answer = await realm.central.client.post(
        found["token_endpoint"], content=body,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    parsed: Json = device.parse_request_body_response(answer.text)
    assert (await realm.api(parsed).get("/v1/me")).json["kind"] == "user"


async def test_keys_turn_and_what_the_old_one_signed_holds_until_it_is_distrusted(
    realm: Realm, ann: Browser
) -> None:
    async def published() -> list[str]:
        answer = await realm.central.client.get(f"{realm.issuer}/jwks")
        return [key["kid"] for key in answer.json()["keys"]]

    first, second = await published()
    old = await realm.device(ann)
    turned = await realm.tenant.admin.made("/v1/realm/rotate", distrust=False)
    assert turned == {"issuer": realm.issuer, "kid": second}
    kept = await published()
    assert kept[:2] == [first, second], "whoever cached the keys knew the new one before"
    assert len(kept) == 3
    assert (await realm.api(old).get("/v1/me")).status == 200
    new = await realm.device(ann)
    assert (await realm.api(new).get("/v1/me")).status == 200
    await realm.tenant.admin.made("/v1/realm/rotate", distrust=True)
    assert second not in await published()
    assert (await realm.api(new).get("/v1/me")).status == 401, "it was signed by a key that leaked"
    await realm.central.execute(
        "UPDATE realm_keys SET changed_at = changed_at - interval '61 minutes' WHERE kid = $1",
        first,
    )
    assert first not in await published()
    assert (await realm.api(old).get("/v1/me")).status == 401


async def test_an_old_key_is_turned_by_the_next_process_that_needs_it(
    realm: Realm, ann: Browser
) -> None:
    await realm.device(ann)
    old = await realm.central.value("SELECT kid FROM realm_keys WHERE state = 'current'")
    await realm.central.execute(
        "UPDATE realm_keys SET changed_at = changed_at - interval '31 days' WHERE kid = $1", old
    )
    seal = sealing.load_or_create(realm.central.settings.data / "seal.key")
    other = Keyring(realm.central.database, seal)
    signers = await asyncio.gather(*(other.signer(TenantId(realm.tenant.id)) for _ in range(5)))
    assert len({signer.kid for signer in signers}) == 1, "of several at once, one turns it"
    assert signers[0].kid != old
    states = await realm.central.rows("SELECT state FROM realm_keys ORDER BY state")
    assert [row["state"] for row in states] == ["current", "next", "retired"]
