"""An audit log as it is in object storage: its segments, and the checkpoint that ends them."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote, urlsplit

from penstock_client import errors
from penstock_client.chains import Fault, Line

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SEGMENTS: Final = "segments"
CHECKPOINT: Final = "checkpoint.json"


@dataclass(frozen=True)
class Checkpoint:
    """A point of the chain, signed by the platform's key."""

    seq: int
    hash: str
    signature: bytes

    def signed(self) -> bytes:
        return f"penstock audit checkpoint\n{self.seq}\n{self.hash}\n".encode()


class Export:
    """Read from a URL: a folder, or a bucket whose credentials are in the environment."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store = _open(url)

    def names(self) -> list[str]:
        """Of the segments, in the order of their first entries, which their names end with."""
        import obstore

        try:
            # An overload that returns Arrow tables has a type only where Arrow is installed.
            found = obstore.list(self._store, prefix=SEGMENTS).collect()  # pyright: ignore[reportUnknownMemberType]
        except (obstore.exceptions.BaseError, OSError) as error:
            raise unreadable(self.url, error) from None
        return sorted((item["path"] for item in found), key=lambda name: name.rpartition("/")[2])

    def lines(self) -> Iterator[Line]:
        for name in self.names():
            text = (self._get(name) or b"").decode(errors="replace")
            for line in text.removesuffix("\n").split("\n"):  # not at U+2028, which may be inside
                yield Line(line, name)

    def checkpoint(self) -> Checkpoint | Fault:
        body = self._get(CHECKPOINT)
        if body is None:
            return Fault(CHECKPOINT, "there is none, so nobody can say where the log ended")
        try:
            said = cast("dict[str, str | int]", json.loads(body))
            signature = base64.b64decode(str(said["signature"]), validate=True)
            return Checkpoint(int(said["seq"]), str(said["hash"]), signature)
        except (ValueError, TypeError, KeyError):
            return Fault(CHECKPOINT, "it cannot be read")

    def _get(self, name: str) -> bytes | None:
        import obstore

        try:
            return bytes(obstore.get(self._store, name).bytes())
        except FileNotFoundError:
            return None
        except (obstore.exceptions.BaseError, OSError) as error:
            raise unreadable(self.url, error) from None


def unreadable(url: str, error: Exception) -> errors.ClientError:
    return errors.ClientError(f"{url} cannot be read: {str(error).partition(chr(10))[0]}")


def _open(url: str) -> "ObjectStore":
    try:
        from obstore.exceptions import BaseError
        from obstore.store import LocalStore, from_url
    except ImportError:
        raise errors.Misused(
            "reading object storage needs obstore: install penstock-client[audit]"
        ) from None
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        folder = Path(unquote(parts.path)).absolute()
        if not folder.is_dir():
            raise errors.Misused(f"there is no folder {str(folder)!r}")
        return LocalStore(folder)
    try:
        return from_url(url)
    except (BaseError, ValueError) as error:
        raise unreadable(url, error) from None


def is_signed(checkpoint: Checkpoint, certificate: bytes) -> bool:
    """Whether the key of this certificate (the platform's CA, PEM) signed the checkpoint."""
    try:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise errors.Misused(
            "checking a signature needs cryptography: install penstock-client[audit]"
        ) from None
    try:
        key = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        raise errors.Misused("the CA file holds no PEM certificate") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        key.verify(checkpoint.signature, checkpoint.signed(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True
