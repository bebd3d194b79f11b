"""A forger: holds everything that leaked, and some things that never should."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from penstock.kernel import sealing

from .plane import Central, Json
from .realm_stage import Realm

Header = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def parts(token: str) -> tuple[Header, Json]:
    header, claims, _ = token.split(".")
    return json.loads(unb64(header)), json.loads(unb64(claims))


def assemble(header: Header, claims: object, signature: bytes) -> str:
    return ".".join(
        (*(b64(json.dumps(part).encode()) for part in (header, claims)), b64(signature))
    )


@dataclass(frozen=True)
class Keys:
    """A realm's own signing key, as only central should have it."""

    kid: str
    private: ECKey

    @classmethod
    async def of(cls, central: Central, realm: Realm) -> "Keys":
        rows = await central.rows(
            "SELECT kid, sealed FROM realm_keys WHERE tenant_id = $1 AND state = 'current'",
            realm.tenant.id,
        )
        kid = rows[0]["kid"]
        seal = sealing.load_or_create(central.settings.data / "seal.key")
        opened = seal.open(f"signing key {kid} of {realm.tenant.id}", rows[0]["sealed"])
        return cls(kid, ECKey.import_key(json.loads(opened)))

    def sign(self, header: Header, claims: Json) -> str:
        return jwt.encode(header, claims, self.private, ["ES256"], default_type=None)

    def public_pem(self) -> bytes:
        return self.private.as_pem(private=False)

    def public_json(self) -> bytes:
        return json.dumps(self.private.as_dict(private=False)).encode()

    def der_signed(self, header: Header, claims: Json) -> str:
        """With the signature in the form that other protocols use."""
        signing = assemble(header, claims, b"").rstrip(".")
        key = serialization.load_pem_private_key(self.private.as_pem(private=True), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return f"{signing}.{b64(key.sign(signing.encode(), ec.ECDSA(hashes.SHA256())))}"


def mac(header: Header, claims: Json, secret: bytes) -> str:
    """Signed with HMAC, with whatever everyone knows as the secret."""
    signing = assemble(header, claims, b"").rstrip(".")
    return f"{signing}.{b64(hmac.digest(secret, signing.encode(), hashlib.sha256))}"


def by_stranger(header: Header, claims: Json) -> str:
    return jwt.encode(header, claims, ECKey.generate_key("P-256"), ["ES256"], default_type=None)


def with_own_key(header: Header, claims: Json) -> str:
    """A key of the forger's, brought along in the header."""
    own = ECKey.generate_key("P-256")
    brought = {**header, "jwk": own.as_dict(private=False)}
    return jwt.encode(brought, claims, own, ["ES256"], default_type=None)


def by_rsa(header: Header, claims: Json) -> str:
    changed = {**header, "alg": "RS256"}
    return jwt.encode(changed, claims, RSAKey.generate_key(2048), ["RS256"], default_type=None)
