"""Tokens of hosted realms that are not what they say. All are refused in the same words and
change nothing; none makes central ask anyone but the issuer, or that one often."""

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from penstock.local.postgres import EmbeddedPostgres
from penstock_contracts.drivers.realm import Wanted

from . import plane, realm_forger, realm_hosts
from .keycloak_emulator import Emulator, new_key
from .plane import Central, Json
from .realm_forger import Header
from .realm_hosts import AtKeycloak
from .realm_stage import Realm
from .test_bad_input import census
from .test_forgeries import without_none
from .test_onboarding import ended

pytestmark = pytest.mark.anyio
ADA = "ada@acme.example"
EVIL = "https://evil.example/jwks"


@dataclass(frozen=True)
class Loot:
    """A good token of acme's, whose realm is at Keycloak, and all around it."""

    central: Central
    emulator: Emulator
    tenant: str
    tokens: Json
    theirs: str  # a good token of globex's, at the same Keycloak
    embedded: Json  # good tokens of initech's, whose realm is central's own
    host: AtKeycloak

    @property
    def header(self) -> Header:
        return realm_forger.parts(self.tokens["access_token"])[0]

    @property
    def claims(self) -> Json:
        return realm_forger.parts(self.tokens["access_token"])[1]

    @property
    def key(self) -> Any:
        return self.emulator.realms["acme"].key

    def sign(self, header: Header, claims: Json, key: Any = None) -> str:
        """By acme's own key at Keycloak, whatever the header says."""
        return jwt.encode(
            header, claims, key or self.key, ["RS256", "PS256", "ES256"], default_type=None
        )

    def signed(self, **changes: object) -> str:
        return self.sign(self.header, without_none({**self.claims, **changes}))

    def headed(self, **changes: object) -> str:
        return self.sign(without_none({**self.header, **changes}), self.claims)

    def mac(self, secret: bytes, **header: object) -> str:
        return realm_forger.mac({**self.header, "alg": "HS256", **header}, self.claims, secret)


@pytest.fixture(scope="module")
async def loot(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Loot, None]:
    server.create_database("hosted_forgeries", template=templates["central"])
    url = server.serving_url("central", "hosted_forgeries")
    folder = tmp_path_factory.mktemp("hosted-forgeries")
    async with realm_hosts.emulated() as (emulator, host):
        settings: Json = {
            "drivers": realm_hosts.drivers_file(folder, emulator), "bad_keys_burst": 10_000,
        }  # fmt: skip
        async with plane.running(url, folder / "central", **settings) as central:
            tokens: dict[str, Json] = {}
            tenants: dict[str, str] = {}
            for name in ("acme", "globex"):
                file = {"tenant": name, "admin": {"email": ADA}, "realm": "keycloak"}
                begun = await central.platform.made("/v1/onboardings", **file)
                tenants[name] = (await ended(central, begun["id"]))["tenant"]
                wanted = Wanted(tenants[name], name, "", "")
                await host.become(wanted, ADA)
                tokens[name] = await host.tokens(wanted, ADA) or {}
            initech = Realm(central, await central.tenant("initech"), "initech")
            bob = await initech.join("bob@initech.example", "admin")
            embedded = await initech.device(bob)
            await bob.client.aclose()
            theirs = tokens["globex"]["access_token"]
            loot = Loot(central, emulator, tenants["acme"], tokens["acme"], theirs, embedded, host)
            for token in (loot.tokens["access_token"], theirs):
                assert (await central.caller(token).get("/v1/me")).status == 200
            yield loot
    server.drop_database("hosted_forgeries")


def stranger(loot: Loot, **header: object) -> str:
    return loot.sign({**loot.header, **header}, loot.claims, RSAKey.generate_key(2048))


def brought(loot: Loot) -> str:
    own = RSAKey.generate_key(2048)
    return loot.sign({**loot.header, "jwk": own.as_dict(private=False)}, loot.claims, own)


def tampered(loot: Loot) -> str:
    head, _, signature = loot.tokens["access_token"].split(".")
    changed = {**loot.claims, "email": "eve@acme.example"}
    return f"{head}.{realm_forger.assemble({}, changed, b'').split('.')[1]}.{signature}"


def none(alg: str) -> Callable[[Loot], str]:
    return lambda loot: realm_forger.assemble({**loot.header, "alg": alg}, loot.claims, b"")


def misused(loot: Loot) -> str:
    bare = RSAKey.import_key(loot.key.as_pem(private=True))
    return loot.sign({**loot.header, "alg": "PS256"}, loot.claims, bare)


def other_kind(loot: Loot) -> str:
    """An EC key, under the kid of the realm's RSA key."""
    return loot.sign({**loot.header, "alg": "ES256"}, loot.claims, ECKey.generate_key("P-256"))


NOW = int(time.time())
FORGERIES: dict[str, Callable[[Loot], str]] = {
    "no algorithm": none("none"),
    "no algorithm, spelled oddly": none("nOnE"),
    "HMAC with the public key": lambda loot: loot.mac(loot.key.as_pem(private=False)),
    "HMAC with the published JSON": lambda loot: loot.mac(
        str(loot.key.as_dict(private=False)).encode()
    ),
    "HMAC that says RS256": lambda loot: loot.mac(loot.key.as_pem(private=False), alg="RS256"),
    "the right key with an algorithm that it is not published for": misused,
    "a key of another kind": other_kind,
    "a stranger's key": stranger,
    "a key in the header": brought,
    "an address of keys in the header": lambda loot: stranger(loot, jku=EVIL),
    "an address of certificates in the header": lambda loot: stranger(loot, x5u=EVIL),
    "good but for an address of keys": lambda loot: loot.headed(jku=EVIL),
    "good but for an address of certificates": lambda loot: loot.headed(x5u=EVIL),
    "good but for a certificate": lambda loot: loot.headed(x5c=["MIIB"]),
    "a kid that is not known": lambda loot: loot.headed(kid="unknown"),
    "a kid that is a path": lambda loot: loot.headed(kid="../../../../dev/null"),
    "the kid of a key that encrypts": lambda loot: loot.headed(kid="encrypts"),
    "no kid": lambda loot: loot.headed(kid=None),
    "the other realm's kid": lambda loot: loot.headed(
        kid=realm_forger.parts(loot.theirs)[0]["kid"]
    ),
    "the other realm's key under its kid": lambda loot: loot.emulator.sign(
        "acme", loot.claims, key=loot.emulator.realms["globex"].key
    ),
    "the other realm's key under our kid": lambda loot: loot.sign(
        loot.header, loot.claims, loot.emulator.realms["globex"].key
    ),
    "our key for the other realm": lambda loot: loot.signed(
        iss=loot.emulator.issuer("globex"), sub=realm_forger.parts(loot.theirs)[1]["sub"]
    ),
    "our key for the master realm": lambda loot: loot.signed(iss=loot.emulator.issuer("master")),
    "our key for a realm of central's own": lambda loot: loot.signed(
        iss=f"{loot.central.settings.url}/realms/initech"
    ),
    "our key for our realm's name at central": lambda loot: loot.signed(
        iss=f"{loot.central.settings.url}/realms/acme"
    ),
    "another issuer": lambda loot: loot.signed(iss="https://evil.example/realms/acme"),
    "an issuer with a slash more": lambda loot: loot.signed(iss=f"{loot.emulator.issuer('acme')}/"),
    "an issuer on a path": lambda loot: loot.signed(
        iss=f"{loot.emulator.issuer('acme')}/../globex"
    ),
    "an issuer in capitals": lambda loot: loot.signed(iss=loot.emulator.issuer("ACME")),
    "no issuer": lambda loot: loot.signed(iss=None),
    "another audience": lambda loot: loot.signed(aud="account"),
    "other audiences": lambda loot: loot.signed(aud=["account", "https://other.example"]),
    "an audience that contains ours": lambda loot: loot.signed(aud=f"{loot.claims['aud']}/"),
    "no audience": lambda loot: loot.signed(aud=None),
    "expired": lambda loot: loot.signed(exp=int(time.time()) - 1),
    "no end": lambda loot: loot.signed(exp=None),
    "an end in words": lambda loot: loot.signed(exp="9999999999"),
    "an end that is true": lambda loot: loot.signed(exp=True),
    "an end in a year": lambda loot: loot.signed(exp=NOW + 365 * 86_400),
    "not yet": lambda loot: loot.signed(nbf=int(time.time()) + 60),
    "made tomorrow": lambda loot: loot.signed(iat=int(time.time()) + 86_400, exp=NOW + 86_700),
    "no beginning": lambda loot: loot.signed(iat=None),
    "an id token": lambda loot: loot.tokens["id_token"],
    "an id token that says it is for us": lambda loot: loot.signed(typ="ID"),
    "a refresh token": lambda loot: loot.signed(typ="Refresh"),
    "an id token under our type": lambda loot: loot.sign(
        loot.header, realm_forger.parts(loot.tokens["id_token"])[1]
    ),
    "no type": lambda loot: loot.headed(typ=None),
    "another type": lambda loot: loot.headed(typ="JWT"),
    "nobody": lambda loot: loot.signed(sub=None),
    "an empty subject": lambda loot: loot.signed(sub=""),
    "a subject with NUL": lambda loot: loot.signed(sub="\x00"),
    "a subject that is a list": lambda loot: loot.signed(sub=["x"]),
    "a changed address": tampered,
    "a signature of zeros": lambda loot: realm_forger.assemble(
        loot.header, loot.claims, bytes(256)
    ),
    "no signature": lambda loot: realm_forger.assemble(loot.header, loot.claims, b""),
    "a huge token": lambda loot: loot.signed(scope="x" * 5000),
    "a token of central's own that names our issuer": lambda loot: realm_forger.by_stranger(
        *_renamed(loot)
    ),
}


def _renamed(loot: Loot) -> tuple[Header, Json]:
    header, claims = realm_forger.parts(loot.embedded["access_token"])
    return header, {**claims, "iss": loot.emulator.issuer("acme")}


@pytest.mark.parametrize("name", FORGERIES)
async def test_it_is_refused_and_nothing_changed(loot: Loot, name: str) -> None:
    forged = loot.central.caller(FORGERIES[name](loot))
    before = await census(loot.central)
    read = await forged.get("/v1/me")
    written = await forged.post("/v1/projects", name="forged")
    assert (read.status, read.code) == (401, "unauthenticated"), read.raw
    assert (written.status, written.code) == (401, "unauthenticated")
    assert read.json["detail"] == written.json["detail"]
    assert "kid" not in read.json["detail"], "a forger learns nothing of what was wrong"
    assert await census(loot.central) == before


async def test_the_tokens_that_they_were_made_from_are_good(loot: Loot) -> None:
    """Otherwise all of the above would show nothing."""
    good = loot.claims["aud"]
    for token in (
        loot.tokens["access_token"],
        loot.signed(),
        loot.headed(),
        loot.signed(aud=["account", good]),
        loot.signed(nbf=int(time.time())),
    ):
        me = await loot.central.caller(token).get("/v1/me")
        assert (me.status, me.json["tenant"]) == (200, loot.tenant), me.raw
    theirs = await loot.central.caller(loot.theirs).get("/v1/me")
    assert theirs.json["tenant"] not in (None, loot.tenant)


async def test_many_unknown_kids_ask_the_issuer_once(loot: Loot) -> None:
    certs = "GET /realms/globex/protocol/openid-connect/certs"
    before = loot.emulator.count(certs)
    header, claims = realm_forger.parts(loot.theirs)
    for number in range(30):
        token = loot.sign({**header, "kid": f"kid-{number}"}, claims)
        assert (await loot.central.caller(token).get("/v1/me")).status == 401
    assert loot.emulator.count(certs) <= before + 1


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256"])
async def test_a_key_of_each_kind_is_believed_as_it_is_published(
    loot: Loot, algorithm: str
) -> None:
    """A realm of its own, so that its keys are fetched anew."""
    name = f"with-{algorithm.lower()}"
    file = {"tenant": name, "admin": {"email": ADA}, "realm": "keycloak"}
    begun = await loot.central.platform.made("/v1/onboardings", **file)
    tenant = (await ended(loot.central, begun["id"]))["tenant"]
    loot.emulator.realms[name].key = new_key(algorithm)
    wanted = Wanted(tenant, name, "", "")
    await loot.host.become(wanted, ADA)
    tokens = await loot.host.tokens(wanted, ADA)
    assert tokens
    assert realm_forger.parts(tokens["access_token"])[0]["alg"] == algorithm
    me = await loot.central.caller(tokens["access_token"]).get("/v1/me")
    assert (me.status, me.json["tenant"]) == (200, tenant)
