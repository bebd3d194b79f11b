"""A certificate authority: central's root, or a site's intermediate below a root of its own.

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
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.kernel.errors import Invalid
from penstock_contracts import files, identity
from penstock_contracts.files import Damaged
from penstock_contracts.identity import PrivateKey

LEAF_LIFE: Final = timedelta(hours=1)
SITE_CA_LIFE: Final = timedelta(days=90)
ROOT_LIFE: Final = timedelta(days=3650)
SKEW: Final = timedelta(minutes=1)
P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
DERIVED_BYTES: Final = 48  # 16 more than the order has: no key is likelier than another


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
        # Whoever dials cannot serve with the same certificate, nor the other way round.
        usage = ExtendedKeyUsageOID.SERVER_AUTH if dns else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        return builder.sign(self.key.key, hashes.SHA256())

    def issue_authority(self, csr_der: bytes, name: str, *, dns: str) -> x509.Certificate:
        """An intermediate that can issue leaves, and servers only of this name."""
        builder = self._builder(csr_key(csr_der), name, SITE_CA_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
        builder = builder.add_extension(_only(dns), critical=True)
        return builder.sign(self.key.key, hashes.SHA256())

    def root_apart(self, name: str, *, dns: str) -> "Authority":
        """A root of its own for the servers of one name. Nothing chains from it to this one.

        Its key follows from this one's, so every replica has it, and there is no file to lose;
        its certificate is signed anew each time, which no chain can tell.
        """
        key = self.derived_key(name)
        signed = _self_signed(key, name, self.certificate.not_valid_after_utc, 1, _only(dns))
        return Authority(key, signed, self.leaf_life)

    def derived_key(self, purpose: str) -> PrivateKey:
        """The key for this purpose that follows from the authority's own."""
        secret = self.key.key.private_numbers().private_value.to_bytes(32)
        hkdf = HKDF(hashes.SHA256(), DERIVED_BYTES, salt=None, info=f"penstock {purpose}".encode())
        number = int.from_bytes(hkdf.derive(secret)) % (P256_ORDER - 1) + 1
        return PrivateKey(ec.derive_private_key(number, ec.SECP256R1()))

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
    key_path, path = folder / "ca-key.pem", folder / "ca.pem"
    copy = "every site trusts the one that was here, so put back a copy"
    if path.exists() and not key_path.exists():
        raise Damaged(key_path, f"is gone, and {path} is for no other key", copy)
    key = PrivateKey.load_or_generate(key_path)
    if not path.exists():
        root = _self_signed(key, "Penstock root", datetime.now(UTC) + ROOT_LIFE, 0)
        files.write_private_once(path, to_pem(root).encode())
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        raise Damaged(path, "is no certificate", copy) from None
    if certificate.public_key() != key.key.public_key():
        raise Damaged(path, f"is not the certificate of {key_path}", copy)
    return Authority(key, certificate, leaf_life)


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


def _only(dns: str) -> x509.NameConstraints:
    """A second line of defence: an authority of one site is trusted by its own nodes alone."""
    return x509.NameConstraints(permitted_subtrees=[x509.DNSName(dns)], excluded_subtrees=None)


def _self_signed(
    key: PrivateKey,
    name: str,
    until: datetime,
    authorities_below: int,
    *constraints: x509.NameConstraints,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(common_name(name))
        .issuer_name(common_name(name))
        .public_key(key.key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - SKEW)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(True, authorities_below), critical=True)
    )
    for constraint in constraints:
        builder = builder.add_extension(constraint, critical=True)
    return builder.sign(key.key, hashes.SHA256())
