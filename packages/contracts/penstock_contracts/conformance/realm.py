"""The rules of RealmProvider, by their numbers.

class TestMine(RealmConformance):
    name = "mine"

    @pytest.fixture
    async def stage(self) -> AsyncGenerator[RealmStage]:
        async with …:
            yield MyStage(…)
"""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

import httpx2
import pytest

from penstock_contracts.conformance.declaration import DeclarationConformance
from penstock_contracts.conformance.realm_stage import Json, RealmStage
from penstock_contracts.drivers.faults import Conflict, DriverFault, Gone, Transient
from penstock_contracts.drivers.realm import COMMAND_LINE, PORTAL, REALM, Hosted, Wanted
from penstock_contracts.drivers.registry import Kind

ADA: Final = "ada@acme.example"
CALL_S_MAX: Final = 90.0


class RealmConformance(DeclarationConformance):
    kind: ClassVar[Kind[Any]] = REALM

    @pytest.fixture
    def stage(self) -> RealmStage:
        raise NotImplementedError("override the fixture `stage` with one for your driver")

    @pytest.fixture
    async def wanted(self, stage: RealmStage) -> AsyncGenerator[Wanted]:
        chosen = await stage.wanted()
        yield chosen
        await stage.tidy(chosen)

    @pytest.fixture
    async def outside(self) -> AsyncGenerator[httpx2.AsyncClient]:
        async with httpx2.AsyncClient(timeout=60.0, trust_env=False) as client:
            yield client

    async def test_1_it_is_made_once_and_the_same_again(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        first = await stage.provider.ensure(wanted)
        await stage.provider.invite(wanted, ADA)
        assert await stage.provider.ensure(wanted) == first
        assert await stage.people(wanted) == [(ADA, False)], "what was there is there"

    async def test_2_a_realm_of_someone_else_is_left_alone(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        await stage.provider.ensure(wanted)
        other = await stage.another(wanted)
        with pytest.raises(Conflict):
            await stage.provider.ensure(other)
        with pytest.raises(Conflict):
            await stage.provider.invite(other, ADA)
        with pytest.raises(Conflict):
            await stage.provider.suspend(other)
        with pytest.raises(Conflict):
            await stage.provider.resume(other)
        await stage.provider.remove(other)
        assert await stage.exists(wanted)
        assert await stage.people(wanted) == []

    async def test_3_its_tokens_name_its_issuer_and_are_signed_by_its_keys(
        self, stage: RealmStage, wanted: Wanted, outside: httpx2.AsyncClient
    ) -> None:
        hosted = await stage.provider.ensure(wanted)
        told = await _metadata(outside, hosted)
        assert told["issuer"] == hosted.issuer
        second = await stage.wanted()
        assert (await stage.provider.ensure(second)).issuer != hosted.issuer
        await stage.provider.remove(second)
        tokens = await _signed_in(stage, wanted)
        header, claims = _parts(tokens["access_token"])
        assert claims["iss"] == hosted.issuer
        keys = (await outside.get(hosted.keys_url)).json()["keys"]
        assert header["kid"] in [key["kid"] for key in keys if key["use"] == "sig"]

    async def test_4_the_command_line_has_the_device_flow_and_no_passwords(
        self, stage: RealmStage, wanted: Wanted, outside: httpx2.AsyncClient
    ) -> None:
        told = await _metadata(outside, await stage.provider.ensure(wanted))
        device = told["device_authorization_endpoint"]
        scope = "openid profile email offline_access administer"
        begun = await outside.post(device, data={"client_id": COMMAND_LINE, "scope": scope})
        assert (begun.status_code, "device_code" in begun.json()) == (200, True), begun.text
        refused = await outside.post(device, data={"client_id": PORTAL, "scope": "openid"})
        assert refused.status_code in (400, 401), refused.text
        for client in (COMMAND_LINE, PORTAL):
            form = {"grant_type": "password", "client_id": client, "username": ADA}
            answer = await outside.post(told["token_endpoint"], data={**form, "password": "p" * 16})
            assert answer.status_code == 400, answer.text

    async def test_4_the_portal_has_codes_with_a_challenge_for_its_own_address(
        self, stage: RealmStage, wanted: Wanted, outside: httpx2.AsyncClient
    ) -> None:
        told = await _metadata(outside, await stage.provider.ensure(wanted))
        digest = hashlib.sha256(b"v" * 43).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        proof = {"code_challenge": challenge, "code_challenge_method": "S256"}
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
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        await stage.provider.ensure(wanted)
        tokens = await _signed_in(stage, wanted)
        header, claims = _parts(tokens["access_token"])
        assert (header["typ"], claims["aud"]) == ("at+jwt", wanted.audience)
        assert claims["exp"] - claims["iat"] == 300
        assert "administer" in claims["scope"].split()
        about, said = _parts(tokens["id_token"])
        assert about["typ"] != "at+jwt"
        assert wanted.audience not in json.dumps(said["aud"])

    async def test_6_someone_invited_is_nobody_until_they_prove_their_address(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        await stage.provider.ensure(wanted)
        await stage.provider.invite(wanted, ADA)
        await stage.provider.invite(wanted, ADA)
        assert await stage.people(wanted) == [(ADA, False)]
        await stage.become(wanted, ADA)
        assert await stage.people(wanted) == [(ADA, True)]
        await stage.provider.invite(wanted, ADA)
        assert await stage.people(wanted) == [(ADA, True)]
        assert await stage.tokens(wanted, ADA), "and their password is still theirs"

    async def test_7_nobody_gets_a_token_while_it_is_suspended(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        await stage.provider.ensure(wanted)
        await _signed_in(stage, wanted)
        for _ in range(2):
            await stage.provider.suspend(wanted)
            assert await stage.tokens(wanted, ADA) is None
        for _ in range(2):
            await stage.provider.resume(wanted)
            assert await stage.tokens(wanted, ADA)

    async def test_8_after_it_is_removed_nothing_is_left_and_again_is_fine(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        await stage.provider.remove(wanted)
        await stage.provider.ensure(wanted)
        await stage.provider.invite(wanted, ADA)
        for _ in range(2):
            await stage.provider.remove(wanted)
            assert not await stage.exists(wanted)
        await stage.provider.ensure(wanted)
        assert await stage.people(wanted) == [], "one of the same name begins anew"

    async def test_9_what_is_not_there_is_gone(self, stage: RealmStage, wanted: Wanted) -> None:
        with pytest.raises(Gone):
            await stage.provider.invite(wanted, ADA)
        with pytest.raises(Gone):
            await stage.provider.suspend(wanted)
        with pytest.raises(Gone):
            await stage.provider.resume(wanted)

    async def test_10_a_vendor_that_never_answers_is_transient_within_bounds(
        self, stage: RealmStage, wanted: Wanted
    ) -> None:
        async with stage.silent() as silent:
            if silent is None:
                pytest.skip("there is no vendor besides this process")
            for verb in (silent.ensure, silent.remove):
                async with asyncio.timeout(CALL_S_MAX):
                    with pytest.raises(Transient) as raised:
                        await verb(wanted)
                _refuse_secrets(stage, str(raised.value))

    async def test_10_no_secret_is_told(self, stage: RealmStage, wanted: Wanted) -> None:
        await stage.provider.ensure(wanted)
        other = await stage.another(wanted)
        missing = await stage.wanted()
        with pytest.raises(DriverFault) as taken:
            await stage.provider.ensure(other)
        with pytest.raises(DriverFault) as gone:
            await stage.provider.suspend(missing)
        _refuse_secrets(stage, f"{taken.value} {gone.value}")
        _refuse_secrets(stage, repr(stage.provider))


def _refuse_secrets(stage: RealmStage, text: str) -> None:
    assert not [secret for secret in stage.secrets if secret in text]


async def _signed_in(stage: RealmStage, wanted: Wanted) -> Json:
    await stage.provider.invite(wanted, ADA)
    await stage.become(wanted, ADA)
    tokens = await stage.tokens(wanted, ADA)
    assert tokens
    return tokens


async def _metadata(outside: httpx2.AsyncClient, hosted: Hosted) -> Json:
    return (await outside.get(f"{hosted.issuer}/.well-known/openid-configuration")).json()


def _parts(token: str) -> tuple[Json, Json]:
    """A token's header and claims."""
    header, claims, _ = token.split(".")
    return _decoded(header), _decoded(claims)


def _decoded(text: str) -> Json:
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
