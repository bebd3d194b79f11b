"""The numbered rules of RealmProvider, for central's own realms and for Keycloak.

Keycloak is emulated, unless PENSTOCK_TEST_KEYCLOAK names the address of a real one (and
PENSTOCK_TEST_KEYCLOAK_SECRET_FILE the file with the secret of its client `penstock`, a service
account of the master realm with the role `admin`): then the suite runs against that one too.
"""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from penstock_contracts.realms import COMMAND_LINE, PORTAL, Conflict, Gone, Hosted, Wanted

from . import plane, realm_forger, realm_hosts
from .plane import Json
from .realm_hosts import Host
from .realm_stage import PASSWORD, Pkce

pytestmark = pytest.mark.anyio
HOSTS = ["embedded", "emulator", *(["keycloak"] if realm_hosts.REAL in os.environ else [])]
ADA = "ada@acme.example"


@pytest.fixture(params=HOSTS)
async def host(
    request: pytest.FixtureRequest, central_url: str, tmp_path: Path
) -> AsyncGenerator[Host, None]:
    if request.param == "keycloak":
        yield realm_hosts.at_real()
    elif request.param == "emulator":
        async with realm_hosts.emulated() as (_, emulated):
            yield emulated
    else:
        async with plane.running(central_url, tmp_path / "central") as central:
            yield realm_hosts.at_central(central)


@pytest.fixture
async def wanted(host: Host) -> AsyncGenerator[Wanted, None]:
    chosen = await host.wanted()
    yield chosen
    try:
        await host.provider.remove(chosen)
    except Exception:
        assert isinstance(host, realm_hosts.AtCentral), "only a realm of ours keeps its people"


@pytest.fixture
async def outside() -> AsyncGenerator[httpx2.AsyncClient, None]:
    async with httpx2.AsyncClient(timeout=60.0, trust_env=False) as client:
        yield client


async def metadata(outside: httpx2.AsyncClient, hosted: Hosted) -> Json:
    return (await outside.get(f"{hosted.issuer}/.well-known/openid-configuration")).json()


async def test_1_it_is_made_once_and_the_same_again(host: Host, wanted: Wanted) -> None:
    first = await host.provider.ensure(wanted)
    await host.provider.invite(wanted, ADA)
    assert await host.provider.ensure(wanted) == first
    assert await host.people(wanted) == [(ADA, False)], "what was there is there"


async def test_2_a_realm_of_someone_else_is_left_alone(host: Host, wanted: Wanted) -> None:
    await host.provider.ensure(wanted)
    other = await host.another(wanted)
    with pytest.raises(Conflict):
        await host.provider.ensure(other)
    with pytest.raises(Conflict):
        await host.provider.invite(other, ADA)
    with pytest.raises(Conflict):
        await host.provider.suspend(other)
    with pytest.raises(Conflict):
        await host.provider.resume(other)
    await host.provider.remove(other)
    assert await host.exists(wanted)
    assert await host.people(wanted) == []


async def test_3_its_tokens_name_its_issuer_and_are_signed_by_its_keys(
    host: Host, wanted: Wanted, outside: httpx2.AsyncClient
) -> None:
    hosted = await host.provider.ensure(wanted)
    told = await metadata(outside, hosted)
    assert told["issuer"] == hosted.issuer
    second = await host.wanted()
    assert (await host.provider.ensure(second)).issuer != hosted.issuer
    await host.provider.remove(second)
    await host.provider.invite(wanted, ADA)
    await host.become(wanted, ADA)
    tokens = await host.tokens(wanted, ADA)
    assert tokens
    header, claims = realm_forger.parts(tokens["access_token"])
    assert claims["iss"] == hosted.issuer
    keys = (await outside.get(hosted.keys_url)).json()["keys"]
    assert header["kid"] in [key["kid"] for key in keys if key["use"] == "sig"]


async def test_4_the_command_line_has_the_device_flow_and_no_passwords(
    host: Host, wanted: Wanted, outside: httpx2.AsyncClient
) -> None:
    told = await metadata(outside, await host.provider.ensure(wanted))
    device = told["device_authorization_endpoint"]
    scope = "openid profile email offline_access administer"
    begun = await outside.post(device, data={"client_id": COMMAND_LINE, "scope": scope})
    assert (begun.status_code, "device_code" in begun.json()) == (200, True), begun.text
    refused = await outside.post(device, data={"client_id": PORTAL, "scope": "openid"})
    assert refused.status_code in (400, 401), refused.text
    for client in (COMMAND_LINE, PORTAL):
        form = {"grant_type": "password", "client_id": client, "username": ADA}
        answer = await outside.post(told["token_endpoint"], data={**form, "password": PASSWORD})
        assert answer.status_code == 400, answer.text


async def test_4_the_portal_has_codes_with_a_challenge_for_its_own_address(
    host: Host, wanted: Wanted, outside: httpx2.AsyncClient
) -> None:
    told = await metadata(outside, await host.provider.ensure(wanted))
    proof = {"code_challenge": Pkce().challenge, "code_challenge_method": "S256"}
    asked = {
        "response_type": "code", "client_id": PORTAL, "redirect_uri": wanted.portal,
        "scope": "openid administer", "state": "s",
    }  # fmt: skip

    async def refused(query: Json) -> bool:
        answer = await outside.get(f"{told['authorization_endpoint']}?{urlencode(query)}")
        return answer.status_code == 400 or "error=" in answer.headers.get("location", "")

    assert not await refused({**asked, **proof})
    assert await refused(asked), "no challenge"
    assert await refused({**asked, **proof, "redirect_uri": "https://evil.example/callback"})


async def test_5_access_tokens_are_for_the_api_say_so_and_live_five_minutes(
    host: Host, wanted: Wanted
) -> None:
    await host.provider.ensure(wanted)
    await host.provider.invite(wanted, ADA)
    await host.become(wanted, ADA)
    tokens = await host.tokens(wanted, ADA)
    assert tokens
    header, claims = realm_forger.parts(tokens["access_token"])
    assert (header["typ"], claims["aud"]) == ("at+jwt", wanted.audience)
    assert claims["exp"] - claims["iat"] == 300
    assert "administer" in claims["scope"].split()
    about, said = realm_forger.parts(tokens["id_token"])
    assert about["typ"] != "at+jwt"
    assert wanted.audience not in json.dumps(said["aud"])


async def test_6_someone_invited_is_nobody_until_they_prove_their_address(
    host: Host, wanted: Wanted
) -> None:
    await host.provider.ensure(wanted)
    await host.provider.invite(wanted, ADA)
    await host.provider.invite(wanted, ADA)
    assert await host.people(wanted) == [(ADA, False)]
    await host.become(wanted, ADA)
    assert await host.people(wanted) == [(ADA, True)]
    await host.provider.invite(wanted, ADA)
    assert await host.people(wanted) == [(ADA, True)]
    assert await host.tokens(wanted, ADA), "and their password is still theirs"


async def test_7_nobody_gets_a_token_while_it_is_suspended(host: Host, wanted: Wanted) -> None:
    await host.provider.ensure(wanted)
    await host.provider.invite(wanted, ADA)
    await host.become(wanted, ADA)
    for _ in range(2):
        await host.provider.suspend(wanted)
        assert await host.tokens(wanted, ADA) is None
    for _ in range(2):
        await host.provider.resume(wanted)
        assert await host.tokens(wanted, ADA)


async def test_8_after_it_is_removed_nothing_is_left_and_again_is_fine(
    host: Host, wanted: Wanted
) -> None:
    await host.provider.remove(wanted)
    await host.provider.ensure(wanted)
    await host.provider.invite(wanted, ADA)
    for _ in range(2):
        await host.provider.remove(wanted)
        assert not await host.exists(wanted)
    await host.provider.ensure(wanted)
    assert await host.people(wanted) == [], "one of the same name begins anew"


async def test_9_what_is_not_there_is_gone(host: Host, wanted: Wanted) -> None:
    with pytest.raises(Gone):
        await host.provider.invite(wanted, ADA)
    with pytest.raises(Gone):
        await host.provider.suspend(wanted)
    with pytest.raises(Gone):
        await host.provider.resume(wanted)
