"""A certificate authority: central's root, or a site's intermediate below it.

Certificates for planes and nodes live at most an hour. Names are SPIFFE URIs; a DNS
name is added for those who serve.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.kernel.errors import Invalid
from penstock_contracts import files, identity
from penstock_contracts.identity import PrivateKey

LEAF_LIFE: Final = timedelta(hours=1)
SITE_CA_LIFE: Final = timedelta(days=90)
ROOT_LIFE: Final = timedelta(days=3650)
SKEW: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Authority:
    key: PrivateKey = field(repr=False)
    certificate: x509.Certificate
    leaf_life: timedelta = LEAF_LIFE

    @property
    def pem(self) -> str:
        return to_pem(self.certificate)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def issue(
        self, csr_der: bytes, uri: str, *, dns: str | None = None, life: timedelta | None = None
    ) -> x509.Certificate:
        """A leaf for the key that signed the request. Its name is ours to give, not theirs."""
        names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri)]
        if dns:
            names.append(x509.DNSName(dns))
        builder = self._builder(csr_key(csr_der), uri, life or self.leaf_life)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return builder.sign(self.key.key, hashes.SHA256())

    def issue_authority(self, csr_der: bytes, name: str) -> x509.Certificate:
        """An intermediate that can issue leaves and nothing more."""
        builder = self._builder(csr_key(csr_der), name, SITE_CA_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
        return builder.sign(self.key.key, hashes.SHA256())

    def issued(self, certificate: x509.Certificate) -> bool:
        """Whether this authority itself, not one below it, issued the certificate."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def _builder(
        self, key: ec.EllipticCurvePublicKey, name: str, life: timedelta
    ) -> x509.CertificateBuilder:
        begin = datetime.now(UTC) - min(SKEW, life / 4)
        return (
            x509.CertificateBuilder()
            .subject_name(common_name(name))
            .issuer_name(self.certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(begin + life)
        )


def load_or_create_root(folder: Path, leaf_life: timedelta = LEAF_LIFE) -> Authority:
    """The platform's root, made on first use and kept, readable by its owner alone."""
    key = PrivateKey.load_or_generate(folder / "ca-key.pem")
    path = folder / "ca.pem"
    if not path.exists():
        files.write_private_once(path, to_pem(_self_signed(key)).encode())
    return Authority(key, x509.load_pem_x509_certificate(path.read_bytes()), leaf_life)


def csr_key(csr_der: bytes) -> ec.EllipticCurvePublicKey:
    """The key of a request whose signature proves that the asker holds it."""
    try:
        request = x509.load_der_x509_csr(csr_der)
    except ValueError:
        raise Invalid("the signing request cannot be read") from None
    key = request.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not request.is_signature_valid:
        raise Invalid("the signing request is not signed by its own P-256 key")
    return key


def enrolled_key(csr_der: bytes) -> bytes:
    """The request's public key as it is stored and compared."""
    return identity.public_der(csr_key(csr_der))


def is_key(public_der: bytes) -> bool:
    """Whether this is a public key of the kind that planes and nodes have."""
    try:
        key = serialization.load_der_public_key(public_der)
    except (ValueError, UnsupportedAlgorithm):
        return False
    return isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)


def to_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[-64:])])


def _self_signed(key: PrivateKey) -> x509.Certificate:
    now = datetime.now(UTC)
    name = common_name("Penstock root")
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + ROOT_LIFE)
        .add_extension(x509.BasicConstraints(True, 1), critical=True)
        .sign(key.key, hashes.SHA256())
    )
