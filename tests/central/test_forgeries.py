"""R19: tokens that are not what they say. All are refused in the same words and change nothing."""

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import pytest

from penstock.local.postgres import EmbeddedPostgres

from . import plane, realm_forger
from .plane import Central, Json
from .realm_forger import Header, Keys
from .realm_stage import Realm
from .test_bad_input import census

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Loot:
    """A good token of acme's and all around it."""

    central: Central
    acme: Realm
    globex: Realm
    tokens: Json
    ours: Keys
    theirs: Keys
    others: dict[str, str]

    @property
    def header(self) -> Header:
        return realm_forger.parts(self.tokens["access_token"])[0]

    @property
    def claims(self) -> Json:
        return realm_forger.parts(self.tokens["access_token"])[1]

    def signed(self, **changes: object) -> str:
        """By acme's own key: only central could make it, and it never would."""
        return self.ours.sign(self.header, without_none({**self.claims, **changes}))

    def headed(self, **changes: object) -> str:
        return self.ours.sign(without_none({**self.header, **changes}), self.claims)


def without_none(given: Json) -> Json:
    return {name: value for name, value in given.items() if value is not None}


@pytest.fixture(scope="module")
async def loot(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Loot, None]:
    server.create_database("forgeries", template=templates["central"])
    url = server.serving_url("central", "forgeries")
    async with plane.running(url, tmp_path_factory.mktemp("forgeries")) as central:
        acme = Realm(central, await central.tenant("acme"), "acme")
        globex = Realm(central, await central.tenant("globex"), "globex")
        ann = await acme.join("ann@acme.example", "admin")
        bob = await acme.join("bob@acme.example")
        eve = await globex.join("eve@globex.example", "admin")
        app = await acme.client()
        tokens = await acme.tokens(ann, app)
        bobs = await acme.tokens(bob, app)
        gone = await acme.tokens(ann, app)
        session = realm_forger.parts(gone["access_token"])[1]["sid"]
        await acme.tenant.admin.made(f"/v1/sessions/{session}/revoke")
        globex_tokens = await globex.device(eve)
        others = {
            "globex": globex_tokens["access_token"],
            "bob": realm_forger.parts(bobs["access_token"])[1]["sub"],
            "bob's session": realm_forger.parts(bobs["access_token"])[1]["sid"],
            "ended": gone["access_token"],
            "ended refresh": gone["refresh_token"],
        }
        yield Loot(
            central, acme, globex, tokens, await Keys.of(central, acme),
            await Keys.of(central, globex), others,
        )  # fmt: skip
        for browser in (ann, bob, eve):
            await browser.client.aclose()
    server.drop_database("forgeries")


def tampered(loot: Loot) -> str:
    head, _, signature = loot.tokens["access_token"].split(".")
    widened = {**loot.claims, "scope": "administer"}
    return f"{head}.{realm_forger.assemble({}, widened, b'').split('.')[1]}.{signature}"


def resigned(loot: Loot, change: Callable[[bytes], bytes]) -> str:
    head, claims, signature = loot.tokens["access_token"].split(".")
    return f"{head}.{claims}.{realm_forger.b64(change(realm_forger.unb64(signature)))}"


def none(alg: str) -> Callable[[Loot], str]:
    return lambda loot: realm_forger.assemble({**loot.header, "alg": alg}, loot.claims, b"")


FORGERIES: dict[str, Callable[[Loot], str]] = {
    "no algorithm": none("none"),
    "no algorithm, spelled oddly": none("nOnE"),
    "an algorithm that is not one": none("ES999"),
    "HMAC with the public key": lambda loot: realm_forger.mac(
        {**loot.header, "alg": "HS256"}, loot.claims, loot.ours.public_pem()
    ),
    "HMAC with the published JSON": lambda loot: realm_forger.mac(
        {**loot.header, "alg": "HS256"}, loot.claims, loot.ours.public_json()
    ),
    "HMAC that says ES256": lambda loot: realm_forger.mac(
        loot.header, loot.claims, loot.ours.public_pem()
    ),
    "a stranger's key": lambda loot: realm_forger.by_stranger(loot.header, loot.claims),
    "a stranger's RSA key": lambda loot: realm_forger.by_rsa(loot.header, loot.claims),
    "a key in the header": lambda loot: realm_forger.with_own_key(loot.header, loot.claims),
    "an address of keys in the header": lambda loot: realm_forger.by_stranger(
        {**loot.header, "jku": "https://evil.example/jwks"}, loot.claims
    ),
    "our signature, with an address of keys": lambda loot: loot.headed(
        jku="https://evil.example/jwks"
    ),
    "our signature, with a certificate": lambda loot: loot.headed(x5c=["MIIB"]),
    "a kid that is not known": lambda loot: loot.headed(kid="unknown"),
    "a kid that is a path": lambda loot: loot.headed(kid="../../../../dev/null"),
    "a kid that is SQL": lambda loot: loot.headed(kid="' OR true --"),
    "a kid with NUL": lambda loot: loot.headed(kid="\x00"),
    "no kid": lambda loot: loot.headed(kid=None),
    "the other realm's kid": lambda loot: loot.headed(kid=loot.theirs.kid),
    "no type": lambda loot: loot.headed(typ=None),
    "another type": lambda loot: loot.headed(typ="JWT"),
    "the other realm's key": lambda loot: loot.theirs.sign(
        {**loot.header, "kid": loot.theirs.kid}, loot.claims
    ),
    "the other realm's key under our kid": lambda loot: loot.theirs.sign(loot.header, loot.claims),
    "the other realm's token for our tenant": lambda loot: loot.theirs.sign(
        {**loot.header, "kid": loot.theirs.kid},
        {**realm_forger.parts(loot.others["globex"])[1], "tenant": loot.acme.tenant.id},
    ),
    "our key for the other realm": lambda loot: loot.signed(iss=loot.globex.issuer),
    "our key for the other tenant": lambda loot: loot.signed(tenant=loot.globex.tenant.id),
    "no tenant": lambda loot: loot.signed(tenant=None),
    "another issuer": lambda loot: loot.signed(iss="https://evil.example/realms/acme"),
    "an issuer with a slash more": lambda loot: loot.signed(iss=f"{loot.acme.issuer}/"),
    "an issuer on a path": lambda loot: loot.signed(iss=f"{loot.acme.issuer}/../globex"),
    "an issuer in capitals": lambda loot: loot.signed(iss=loot.acme.issuer.replace("acme", "ACME")),
    "no issuer": lambda loot: loot.signed(iss=None),
    "another audience": lambda loot: loot.signed(aud="https://other.example"),
    "several audiences": lambda loot: loot.signed(aud=[loot.claims["aud"], "https://x.example"]),
    "the client as audience": lambda loot: loot.signed(aud=loot.claims["client_id"]),
    "no audience": lambda loot: loot.signed(aud=None),
    "expired": lambda loot: loot.signed(exp=int(time.time()) - 1),
    "expired long ago": lambda loot: loot.signed(exp=0),
    "no end": lambda loot: loot.signed(exp=None),
    "an end in words": lambda loot: loot.signed(exp="9999999999"),
    "an end that is true": lambda loot: loot.signed(exp=True),
    "not yet": lambda loot: loot.signed(nbf=int(time.time()) + 60),
    "someone else": lambda loot: loot.signed(sub=loot.others["bob"]),
    "nobody": lambda loot: loot.signed(sub=None),
    "someone else's session": lambda loot: loot.signed(sid=loot.others["bob's session"]),
    "no session": lambda loot: loot.signed(sid=None),
    "a client that acts for itself, with no role": lambda loot: loot.signed(
        sid=None, sub=loot.claims["client_id"]
    ),
    "another client": lambda loot: loot.signed(client_id="penstock-cli"),
    "a subject with NUL": lambda loot: loot.signed(sub="\x00"),
    "a subject that is a list": lambda loot: loot.signed(sub=["x"]),
    "claims that are a list": lambda loot: realm_forger.assemble(loot.header, [1], b"x"),
    "a changed scope": tampered,
    "a changed signature": lambda loot: resigned(loot, lambda s: s[:-1] + bytes([s[-1] ^ 1])),
    "half a signature": lambda loot: resigned(loot, lambda s: s[:32]),
    "no signature": lambda loot: resigned(loot, lambda _: b""),
    "a signature of zeros": lambda loot: resigned(loot, lambda _: bytes(64)),
    "a signature in DER": lambda loot: loot.ours.der_signed(loot.header, loot.claims),
    "an id token": lambda loot: loot.tokens["id_token"],
    "a refresh token": lambda loot: loot.tokens["refresh_token"],
    "a refresh token of an ended session": lambda loot: loot.others["ended refresh"],
    "an ended session": lambda loot: loot.others["ended"],
    "a token with spaces": lambda loot: f"{loot.tokens['access_token']} x",
    "a token and a half": lambda loot: f"{loot.tokens['access_token']}.e30",
    "two dots": lambda loot: "..",
    "dots and nothing": lambda loot: "a.b.c",
    "a nesting without end": lambda loot: (
        f"{realm_forger.b64(b'{}')}.{realm_forger.b64(b'[' * 3000)}.x"
    ),
    "a huge token": lambda loot: loot.signed(scope="x" * 5000),
    "the largest header that is read": lambda loot: "x" * 8000,
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_it_is_refused_everywhere_and_nothing_changed(loot: Loot, name: str) -> None:
    forged = loot.central.caller(FORGERIES[name](loot))
    before = await census(loot.central)
    read = await forged.get("/v1/me")
    written = await forged.post("/v1/projects", name="forged")
    about = await forged.send("GET", "/realms/acme/userinfo")
    assert (read.status, read.code) == (401, "unauthenticated"), read.raw
    assert (written.status, written.code) == (401, "unauthenticated")
    assert read.json["detail"] == written.json["detail"]
    assert "kid" not in read.json["detail"], "a forger learns nothing of what was wrong"
    assert (about.status, about.json) == (401, {"error": "invalid_token"})
    assert await census(loot.central) == before


async def test_a_header_that_is_too_large_is_not_read(loot: Loot) -> None:
    forged = loot.central.caller("x" * 9000)
    before = await census(loot.central)
    answers = [
        await forged.get("/v1/me"),
        await forged.post("/v1/projects", name="forged"),
        await forged.send("GET", "/realms/acme/userinfo"),
    ]
    assert [(a.status, a.code) for a in answers] == [(431, "headers_too_large")] * 3
    assert await census(loot.central) == before


async def test_the_token_that_they_were_made_from_is_good(loot: Loot) -> None:
    """Otherwise all of the above would show nothing."""
    for token in (loot.tokens["access_token"], loot.signed(), loot.headed()):
        me = await loot.central.caller(token).get("/v1/me")
        assert (me.status, me.json["tenant"]) == (200, loot.acme.tenant.id)
    theirs = await loot.central.caller(loot.others["globex"]).get("/v1/me")
    assert theirs.json["tenant"] == loot.globex.tenant.id
    about = await loot.acme.api(loot.tokens).send("GET", "/realms/acme/userinfo")
    assert (about.status, about.json["email"]) == (200, "ann@acme.example")


async def test_a_token_is_no_ones_in_another_realm(loot: Loot) -> None:
    about = await loot.acme.api(loot.tokens).send("GET", "/realms/globex/userinfo")
    assert about.status == 401
