"""The files of a member, read with doubt: whole, and belonging together, or refused by name.

Nothing here changes a file. What is damaged stays as it is, for whoever can put it right.
"""

import json
from pathlib import Path
from typing import TypeVar, cast, get_type_hints

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from penstock_contracts import identity
from penstock_contracts.files import Damaged
from penstock_contracts.identity import PrivateKey

M = TypeVar("M")


def read(path: Path, kind: type[M]) -> M:
    """The membership at `path`."""
    anew = f"put back a copy of it; without one, delete {path.parent} and join with a new token"
    try:
        found: object = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise TypeError("it is not a JSON object")
        fields = cast("dict[str, object]", found)
        for name, type in get_type_hints(kind).items():
            if type is str and not isinstance(fields.get(name), str):
                raise TypeError(f"it has no text {name!r}")
        return kind(**fields)
    except (ValueError, TypeError) as error:
        raise Damaged(path, f"is no membership ({error})", anew) from None


def check_key(path: Path, certificate_pem: str, named: Path) -> None:
    """Refuse unless the key at `path` is the one that the certificate in `named` is for."""
    copy = f"put back a copy; without one, delete {path.parent} and join with a new token"
    if not path.exists():
        raise Damaged(path, f"is gone, and {named.name} is for no other key", copy)
    try:
        key = x509.load_pem_x509_certificate(certificate_pem.encode()).public_key()
    except ValueError:
        raise Damaged(named, "holds a certificate that cannot be read", copy) from None
    own = PrivateKey.from_file(path).public()
    if not isinstance(key, ec.EllipticCurvePublicKey) or identity.public_der(key) != own:
        raise Damaged(path, f"is not the key that {named.name} is for", copy)
