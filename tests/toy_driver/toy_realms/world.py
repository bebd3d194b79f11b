"""What the toy keeps: realms, their people and their keys. It signs tokens."""

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from penstock_contracts.drivers.realm import COMMAND_LINE, Wanted

Json = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Realm:
    wanted: Wanted
    issuer: str
    people: dict[str, bool] = field(default_factory=dict[str, bool])  # whether they proved it
    suspended: bool = False
    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    @property
    def kid(self) -> str:
        return f"{self.wanted.tenant}-1"

    def public_key(self) -> Json:
        numbers = self.key.public_key().public_numbers()
        x, y = (b64(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
        about = {"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid}
        return {**about, "x": x, "y": y}

    def tokens(self, email: str) -> Json | None:
        """Of someone who signs in at the command line."""
        if self.suspended or not self.people.get(email):
            return None
        now = int(time.time())
        said = {
            "iss": self.issuer, "sub": email, "iat": now, "exp": now + 300, "email": email,
            "email_verified": True,
        }  # fmt: skip
        access = {**said, "aud": self.wanted.audience, "scope": "openid administer"}
        return {
            "access_token": self._signed("at+jwt", access),
            "id_token": self._signed("JWT", {**said, "aud": COMMAND_LINE}),
        }

    def _signed(self, typ: str, claims: Json) -> str:
        header = {"alg": "ES256", "kid": self.kid, "typ": typ}
        text = ".".join(b64(json.dumps(part).encode()) for part in (header, claims))
        r, s = decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


@dataclass
class World:
    address: str = ""
    realms: dict[str, Realm] = field(default_factory=dict[str, Realm])
