"""Join tokens: a single-use permission to enrol, with the trust to verify who is asked.

The token carries the root to trust and the key to obey, so nothing is trusted on
first use. Its secret is shown once; only the secret's hash is stored.
"""

import base64
import binascii
import hashlib
import json
import secrets
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from penstock_contracts.ids import InvalidId, TokenId

PREFIX = "penstock-join-"
MAX_LENGTH = 4096


class InvalidToken(ValueError):
    """The text is not a join token."""


@dataclass(frozen=True)
class JoinToken:
    id: TokenId
    secret: bytes = field(repr=False)
    address: str  # host:port of the join listener
    server_name: str  # the DNS name that its certificate carries
    ca_der: bytes = field(repr=False)  # the root that its certificate chains to
    order_key: bytes = field(repr=False)  # signs what comes down the link; DER
    rejoins: str = ""  # the node that comes back with it; empty: whoever joins is new

    def encode(self) -> str:
        fields = {
            "id": self.id,
            "secret": _b64(self.secret),
            "address": self.address,
            "name": self.server_name,
            "ca": _b64(self.ca_der),
            "orders": _b64(self.order_key),
            **({"rejoins": self.rejoins} if self.rejoins else {}),
        }
        return PREFIX + _b64(json.dumps(fields, separators=(",", ":")).encode())

    @classmethod
    def decode(cls, text: str) -> "JoinToken":
        text = text.strip()
        if not text.startswith(PREFIX) or len(text) > MAX_LENGTH:
            raise InvalidToken(f"a join token begins with {PREFIX!r}; this text does not")
        try:
            fields = json.loads(_unb64(text.removeprefix(PREFIX)))
            return cls(
                id=TokenId.parse(fields["id"]),
                secret=_unb64(fields["secret"]),
                address=str(fields["address"]),
                server_name=str(fields["name"]),
                ca_der=_unb64(fields["ca"]),
                order_key=_unb64(fields["orders"]),
                rejoins=str(fields.get("rejoins", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, InvalidId) as error:
            raise InvalidToken("the join token is damaged; copy it again, whole") from error

    def ca_pem(self) -> bytes:
        certificate = x509.load_der_x509_certificate(self.ca_der)
        return certificate.public_bytes(serialization.Encoding.PEM)


def new_secret() -> bytes:
    return secrets.token_bytes(24)


def hash_secret(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
