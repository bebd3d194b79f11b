"""A tenant whose people are at Keycloak: from its file to their calls."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from penstock_contracts.drivers.realm import Wanted

from . import keycloak_emulator, plane, realm_forger, realm_hosts
from .conftest import catalog
from .keycloak_emulator import SECRET, Emulator, Fault
from .plane import Api, Central, Json
from .realm_hosts import AtKeycloak
from .test_onboarding import ended

pytestmark = pytest.mark.anyio
ADA = "ada@acme.example"
EVE = "eve@acme.example"


@dataclass(frozen=True)
class Stage:
    central: Central
    emulator: Emulator
    host: AtKeycloak

    async def onboard(self, **changes: object) -> Json:
        file: Json = {"tenant": "acme", "admin": {"email": ADA}, "realm": "keycloak"}
        begun = await self.central.platform.post("/v1/onboardings", **{**file, **changes})
        assert begun.status == 202, begun.json
        return begun.json

    async def onboarded(self, **changes: object) -> Json:
        return await ended(self.central, (await self.onboard(**changes))["id"])

    @property
    def wanted(self) -> Wanted:
        return Wanted("", "acme", self.central.settings.url, "")

    async def token(self, email: str = ADA) -> str:
        await self.host.become(self.wanted, email)
        tokens = await self.host.tokens(self.wanted, email)
        assert tokens is not None
        return tokens["access_token"]

    async def person(self, email: str = ADA) -> Api:
        return self.central.caller(await self.token(email))

    async def invited(self, email: str, by: Api, role: str = "member") -> Json:
        made = await by.made("/v1/users/invite", email=email, role=role)
        tenant = made["tenant"]
        for _ in range(100):
            carried = await self.central.value(
                "SELECT count(*) FROM hosted_invitations WHERE invitation_id = $1", made["id"]
            )
            if carried:
                break
            await self.central.until(tenant, "realm.guest_invited")
            await asyncio.sleep(0.02)
        return made


@pytest.fixture
async def stage(central_url: str, tmp_path: Path) -> AsyncGenerator[Stage, None]:
    async with realm_hosts.emulated() as (emulator, host):
        file = realm_hosts.drivers_file(tmp_path, emulator)
        async with plane.running(central_url, tmp_path / "central", drivers=file) as central:
            yield Stage(central, emulator, host)


async def test_a_tenant_is_onboarded_with_its_realm_at_keycloak(stage: Stage) -> None:
    done = await stage.onboarded()
    assert (done["status"], done["reason"]) == ("done", "")
    steps = {step["name"]: step for step in done["steps"]}
    assert steps["realm"]["detail"] == stage.emulator.issuer("acme")
    assert (steps["admin"]["detail"], steps["admin"]["changed"]) == (f"{ADA} invited", True)
    kept = stage.emulator.realms["acme"]
    assert kept.about["attributes"] == {"penstock.tenant": done["tenant"]}
    assert set(kept.clients) == {"penstock-cli", "penstock-portal"}
    assert await stage.host.people(stage.wanted) == [(ADA, False)]
    assert await stage.central.value("SELECT count(*) FROM realm_clients") == 0
    again = await stage.onboarded()
    assert [step["name"] for step in again["steps"] if step["changed"]] == []
    assert await stage.central.violations() == {}


async def test_whoever_was_invited_comes_in_is_linked_and_comes_again(
    stage: Stage, tmp_path: Path
) -> None:
    tenant = (await stage.onboarded())["tenant"]
    ada = await stage.person()
    answers = await asyncio.gather(*(ada.get("/v1/me") for _ in range(8)))
    assert {answer.status for answer in answers} == {200}
    me = answers[0].json
    assert (me["kind"], me["role"], me["tenant"]) == ("user", "admin", tenant)
    assert {answer.json["id"] for answer in answers} == {me["id"]}
    assert (await ada.made("/v1/projects", name="main"))["tenant"] == tenant
    again = await stage.person()
    assert (await again.get("/v1/me")).json["id"] == me["id"]
    assert await stage.central.value("SELECT count(*) FROM hosted_identities") == 1
    assert await stage.central.value("SELECT count(*) FROM users") == 1


async def test_what_is_bound_to_someone_there_counts_and_so_does_their_second_factor(
    stage: Stage,
) -> None:
    await stage.onboarded()
    ada = await stage.person()
    await ada.made("/v1/projects", name="main")
    await stage.invited(EVE, ada)
    token = await stage.token(EVE)
    eve = stage.central.caller(token)
    id = (await eve.get("/v1/me")).json["id"]
    changed = await ada.send("PATCH", f"/v1/users/{id}", json={"role": "none"})
    assert changed.status == 200, changed.json
    assert (await eve.get("/v1/projects")).status == 403
    await ada.made(
        "/v1/role-bindings", subject=id, role="viewer", project="main",
        conditions={"second_factor": True},
    )  # fmt: skip
    assert [grant["role"] for grant in (await eve.get("/v1/me")).json["grants"]] == ["viewer"]
    assert (await eve.get("/v1/projects")).status == 403
    claims = realm_forger.parts(token)[1]
    for methods, status in ((["pwd"], 403), ("otp", 200), (["pwd", "otp"], 200), ([["otp"]], 403)):
        proven = stage.central.caller(stage.emulator.sign("acme", {**claims, "amr": methods}))
        assert (await proven.get("/v1/projects")).status == status, methods


async def test_who_was_not_invited_or_has_no_verified_address_is_told_so(stage: Stage) -> None:
    await stage.onboarded()
    await stage.host.provider.invite(
        Wanted((await stage.central.rows("SELECT id FROM tenants"))[0]["id"], "acme", "", ""), EVE
    )
    eve = await stage.person(EVE)
    refused = await eve.get("/v1/me")
    assert (refused.status, refused.code) == (403, "not_invited")
    token = await stage.token(ADA)
    ada = await stage.host.user(stage.wanted, ADA)
    stage.emulator.realms["acme"].users[ada["id"]]["emailVerified"] = False
    unsure = await stage.host.tokens(stage.wanted, ADA)
    assert unsure
    refused = await stage.central.caller(unsure["access_token"]).get("/v1/me")
    assert (refused.status, refused.code) == (403, "not_invited")
    assert await stage.central.value("SELECT count(*) FROM users") == 0
    assert (await stage.central.caller(token).get("/v1/me")).status == 200
    linked = stage.central.caller(unsure["access_token"])
    assert (await linked.get("/v1/me")).status == 200, "once linked, the address is only an address"


async def test_an_admin_invites_others_to_keycloak(stage: Stage) -> None:
    await stage.onboarded()
    ada = await stage.person()
    made = await stage.invited(EVE, ada)
    assert made["url"] == f"{stage.emulator.issuer('acme')}/account"
    eve = await stage.person(EVE)
    assert (await eve.get("/v1/me")).json["role"] == "member"
    refused = await eve.post("/v1/users/invite", email="x@acme.example")
    assert (refused.status, refused.code) == (403, "forbidden")


async def test_what_is_bound_to_someone_there_counts_here(stage: Stage) -> None:
    await stage.onboarded()
    ada = await stage.person()
    project = (await ada.made("/v1/projects", name="main"))["id"]
    await stage.invited(EVE, ada, "none")
    eve = await stage.person(EVE)
    id = (await eve.get("/v1/me")).json["id"]
    assert (await eve.get("/v1/projects")).status == 403
    group = (await ada.made("/v1/groups", name="team"))["id"]
    await ada.made("/v1/role-bindings", subject=group, role="viewer", project="main")
    await ada.made(f"/v1/groups/{group}/members", member=id)
    assert [each["id"] for each in (await eve.get("/v1/projects")).items] == [project]
    assert (await ada.delete(f"/v1/groups/{group}")).status == 200
    assert (await eve.get("/v1/projects")).status == 403


async def test_whoever_is_disabled_is_out_at_once(stage: Stage) -> None:
    await stage.onboarded()
    ada = await stage.person()
    await ada.get("/v1/me")
    await stage.invited(EVE, ada)
    eve = await stage.person(EVE)
    id = (await eve.get("/v1/me")).json["id"]
    await ada.made(f"/v1/users/{id}/disable")
    assert (await eve.get("/v1/me")).status == 401
    fresh = await stage.person(EVE)
    assert (await fresh.get("/v1/me")).status == 401
    await ada.made(f"/v1/users/{id}/enable")
    assert (await eve.get("/v1/me")).status == 200


async def test_a_tenants_status_holds_for_its_people_there(stage: Stage, tmp_path: Path) -> None:
    tenant = (await stage.onboarded())["tenant"]
    ada = await stage.person()
    await ada.made("/v1/projects", name="main")
    await catalog(stage.central)
    await stage.central.platform.made(f"/v1/tenants/{tenant}/suspend", reason="unpaid")
    refused = await ada.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    assert (refused.status, refused.code) == (403, "tenant_suspended")
    assert (await ada.get("/v1/projects")).status == 200
    await stage.central.platform.made(f"/v1/tenants/{tenant}/resume", reason="paid")
    await stage.invited(EVE, ada)
    await stage.central.platform.made(f"/v1/tenants/{tenant}/offboard", reason="left")
    await stage.central.until(tenant, "tenant.offboarded")
    late = await (await stage.person(EVE)).get("/v1/me")
    assert (late.status, late.code) == (403, "not_invited"), "nobody comes to who is gone"
    refused = await ada.post("/v1/projects", name="new")
    assert (refused.status, refused.code) == (403, "tenant_offboarded")


async def test_what_keycloak_decides_is_not_decided_here(stage: Stage) -> None:
    tenant = (await stage.onboarded())["tenant"]
    ada = await stage.person()
    id = (await ada.get("/v1/me")).json["id"]
    issuer = stage.emulator.issuer("acme")
    for path, body in (
        ("/v1/clients", {"name": "app"}),
        (f"/v1/users/{id}/reset", {"second_factor": False}),
        ("/v1/realm/rotate", {"distrust": False}),
    ):
        refused = await ada.post(path, **body)
        assert (refused.status, refused.code) == (409, "realm_elsewhere"), path
        assert refused.json["issuer"] == issuer
    idp = {"name": "idp", "issuer": "https://i.example", "client_id": "c", "client_secret": "s"}
    refused = await stage.central.platform.post("/v1/providers", tenant=tenant, **idp)
    assert (refused.status, refused.code) == (409, "realm_elsewhere")
    nobody = stage.central.caller(None)
    for page in ("login", ".well-known/openid-configuration", "jwks", "invitation?token=x"):
        refused = await nobody.get(f"/realms/acme/{page}")
        assert (refused.status, refused.code) == (409, "realm_elsewhere"), page


async def test_where_a_realm_is_cannot_change(stage: Stage) -> None:
    await stage.onboarded()
    await stage.central.tenant("globex")
    for tenant, realm in (("acme", "embedded"), ("globex", "keycloak")):
        refused = await stage.central.platform.post(
            "/v1/onboardings", tenant=tenant, admin={"email": ADA}, realm=realm
        )
        assert (refused.status, refused.code) == (409, "realm_fixed"), tenant
    refused = await stage.central.platform.post(
        "/v1/onboardings", tenant="new", admin={"email": ADA}, realm="okta"
    )
    assert (refused.status, refused.code) == (422, "unknown_realm_provider")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await stage.central.execute("UPDATE hosted_realms SET provider = 'embedded'")


async def test_a_realm_of_that_name_that_is_not_ours_undoes_the_onboarding_and_stays(
    stage: Stage,
) -> None:
    theirs = keycloak_emulator.Kept({"realm": "acme", "enabled": True}, keycloak_emulator.new_key())
    stage.emulator.realms["acme"] = theirs
    undone = await stage.onboarded()
    assert undone["status"] == "undone"
    assert "not this tenant's" in undone["reason"]
    assert stage.emulator.realms["acme"] is theirs
    assert (await stage.central.platform.get("/v1/tenants/acme")).status == 404
    assert await stage.central.value("SELECT count(*) FROM realms") == 0
    del stage.emulator.realms["acme"]
    assert (await stage.onboarded())["status"] == "done", "the name is free again"


async def test_a_later_step_that_fails_takes_the_realm_back(stage: Stage) -> None:
    undone = await stage.onboarded(networks=[{"vlans": 1}])
    assert (undone["status"], undone["reason"][:8]) == ("undone", "network:")
    assert set(stage.emulator.realms) == {"master"}
    assert await stage.central.value("SELECT count(*) FROM hosted_realms") == 0
    assert await stage.central.value("SELECT count(*) FROM tenants") == 0


FAULTS = {
    "the realm is made and the answer is lost": Fault("POST", "/admin/realms", lost=True),
    "a client is made and the answer is lost": Fault("POST", "/clients", lost=True),
    "a scope cannot be made": Fault("POST", "/client-scopes", status=500),
    "a person is made and the answer is lost": Fault("POST", "/users", lost=True),
    "the token is no more": Fault("GET", "/acme", status=401),
    "the token is not enough yet": Fault("GET", "/client-scopes", status=403),
    "it is too busy": Fault("POST", "/admin/realms", status=429),
    "it is slow": Fault("POST", "/admin/realms", slow_s=0.5),
    "it does not describe itself": Fault("GET", "/openid-configuration", status=503),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_it_comes_to_be_in_spite_of(stage: Stage, name: str) -> None:
    stage.emulator.faults.append(FAULTS[name])
    done = await stage.onboarded()
    assert (done["status"], done["reason"]) == ("done", "")
    assert not stage.emulator.faults, "it was hit"
    assert set(stage.emulator.realms) == {"master", "acme"}
    assert await stage.host.people(stage.wanted) == [(ADA, False)]
    assert (await (await stage.person()).get("/v1/me")).status == 200


async def test_while_keycloak_rejects_us_it_waits_and_says_why(stage: Stage) -> None:
    for _ in range(2):
        stage.emulator.faults.append(Fault("POST", "/master/protocol/openid-connect/token", 401))
    begun = await stage.onboard()
    stepped: list[str] = []
    async with asyncio.timeout(20):
        while not any("does not know client" in detail for detail in stepped):
            steps = (await stage.central.platform.get(f"/v1/onboardings/{begun['id']}")).json
            stepped = [step["detail"] for step in steps["steps"]]
            await asyncio.sleep(0.05)
    assert SECRET not in str(stepped)
    assert (await ended(stage.central, begun["id"]))["status"] == "done"


async def test_tokens_whose_key_is_known_work_while_keycloak_is_away_and_others_are_told(
    stage: Stage,
) -> None:
    await stage.onboarded()
    ada = await stage.person()
    stage.emulator.down = True
    away = await ada.get("/v1/me")
    assert (away.status, away.code) == (503, "issuer_unavailable")
    assert "can be neither believed nor refused" in away.json["detail"]
    assert int(away.headers["retry-after"]) >= 1
    stage.emulator.down = False
    assert (await ada.get("/v1/me")).status == 503, "asked again only every ten seconds"
    certs = "GET /realms/acme/protocol/openid-connect/certs"
    assert stage.emulator.count(certs) == 1


async def test_a_known_key_outlives_its_issuers_absence(stage: Stage) -> None:
    await stage.onboarded()
    ada = await stage.person()
    assert (await ada.get("/v1/me")).status == 200
    stage.emulator.down = True
    assert (await ada.get("/v1/me")).status == 200
    certs = "GET /realms/acme/protocol/openid-connect/certs"
    assert stage.emulator.count(certs) == 1


async def test_nothing_of_keycloak_is_asked_for_a_token_of_an_unknown_issuer(stage: Stage) -> None:
    await stage.onboarded()
    stage.emulator.asked.clear()
    token = stage.emulator.sign("acme", {"iss": "https://evil.example/realms/acme", "sub": "x"})
    assert (await stage.central.caller(token).get("/v1/me")).status == 401
    assert stage.emulator.asked == []


async def test_a_suspended_realm_lets_nobody_in(stage: Stage) -> None:
    tenant = (await stage.onboarded())["tenant"]
    ada = await stage.person()
    assert (await ada.get("/v1/me")).status == 200
    platform = stage.central.platform
    await platform.made("/v1/realm/suspend", tenant=tenant, reason="stolen")
    assert (await ada.get("/v1/me")).status == 401, "at once, whatever Keycloak does"
    await stage.central.until(tenant, "realm.host_suspended")
    assert await stage.host.tokens(stage.wanted, ADA) is None
    await platform.made("/v1/realm/resume", tenant=tenant, reason="found")
    await stage.central.until(tenant, "realm.host_resumed")
    assert (await ada.get("/v1/me")).status == 200
