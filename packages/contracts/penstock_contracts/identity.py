"""Keys and the signatures made with them. Every plane and every node has one P-256 key."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock_contracts import files, wire_pb2

TRUST_DOMAIN: Final = "penstock"
SIGNATURE: Final = ec.ECDSA(hashes.SHA256())


class SignatureRejected(Exception):
    """The signature is not by the key that was expected, or not over these bytes."""


@dataclass(frozen=True)
class PrivateKey:
    """A P-256 key. Its repr shows nothing."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> "PrivateKey":
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def load_or_generate(cls, path: Path) -> "PrivateKey":
        """Read the key at `path`; make it first, readable by its owner alone, if absent."""
        if not path.exists():
            files.write_private_once(path, cls.generate().pem())
        return cls.from_file(path)

    @classmethod
    def from_file(cls, path: Path) -> "PrivateKey":
        try:
            return cls.from_pem(path.read_bytes())
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise files.Damaged(path, "holds no private key", "put back a copy of it") from None

    @classmethod
    def from_pem(cls, pem: bytes) -> "PrivateKey":
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key is not an elliptic-curve key")
        return cls(key)

    def pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def public(self) -> bytes:
        """The public key as DER SubjectPublicKeyInfo: how keys are stored and compared."""
        return public_der(self.key.public_key())

    def sign(self, payload: bytes) -> wire_pb2.Signed:
        return wire_pb2.Signed(payload=payload, signature=self.key.sign(payload, SIGNATURE))

    def csr(self, name: str) -> bytes:
        """A DER signing request. Signed by the key, so it proves possession of it."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        request = x509.CertificateSigningRequestBuilder().subject_name(subject)
        return request.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def public_der(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def fingerprint(public_key: bytes) -> str:
    """A public key as people compare it: SHA-256 over its DER, in hexadecimal."""
    return hashlib.sha256(public_key).hexdigest()


def verify(public_key: bytes, signed: wire_pb2.Signed) -> bytes:
    """The payload, if `public_key` (DER) signed exactly these bytes."""
    try:
        key = serialization.load_der_public_key(public_key)
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise SignatureRejected("the key is not an elliptic-curve key")
        key.verify(signed.signature, signed.payload, SIGNATURE)
    except (InvalidSignature, ValueError) as error:
        raise SignatureRejected("the signature does not match the key and the payload") from error
    return signed.payload


def spiffe(kind: str, id: str) -> str:
    """The name in a certificate: spiffe://penstock/site/site_…"""
    return f"spiffe://{TRUST_DOMAIN}/{kind}/{id}"


@dataclass(frozen=True)
class Peer:
    """Who a certificate names, and with which key."""

    kind: str
    id: str
    public_key: bytes = b""


def peer_of(certificate: x509.Certificate) -> Peer:
    """The one SPIFFE name of a certificate; ValueError if it has none or several."""
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    names = extension.value.get_values_for_type(x509.UniformResourceIdentifier)
    if len(names) != 1:
        raise ValueError(f"the certificate has {len(names)} URI names; it must have one")
    scheme, _, rest = names[0].partition("://")
    parts = rest.split("/")
    if scheme != "spiffe" or len(parts) != 3 or parts[0] != TRUST_DOMAIN:
        raise ValueError("the certificate's URI name is not one of this platform")
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("the certificate's key is not an elliptic-curve key")
    return Peer(kind=parts[1], id=parts[2], public_key=public_der(key))
