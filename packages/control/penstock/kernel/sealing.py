"""What must be stored but not read there: sealed with a key that is not in the database."""

import hashlib
import hmac
import os
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock_contracts import files

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class SealBroken(Exception):
    """This was sealed with another key or for another purpose, or was changed since."""


class Seal:
    """Seals bytes for one purpose; opened for any other, they are noise."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a sealing key has {KEY_BYTES} bytes, this one {len(key)}")
        self._cipher = AESGCM(key)
        self._mac_key = hmac.digest(key, b"penstock mac", "sha256")

    def seal(self, purpose: str, plain: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, purpose.encode())

    def open(self, purpose: str, sealed: bytes) -> bytes:
        nonce, body = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, body, purpose.encode())
        except (InvalidTag, ValueError):
            raise SealBroken(f"what was sealed for {purpose} cannot be opened") from None

    def mark(self, purpose: str, text: str) -> str:
        """A mark on a text that only we can make (HMAC)."""
        return hmac.new(self._mac_key, f"{purpose}\n{text}".encode(), hashlib.sha256).hexdigest()


def load_or_create(path: Path) -> Seal:
    """The key at `path`, made on first use; every replica must have the same."""
    if not path.exists():
        files.write_private_once(path, os.urandom(KEY_BYTES))
    try:
        return Seal(path.read_bytes())
    except ValueError as error:
        raise files.Damaged(path, f"is damaged ({error})", "put back a copy of it") from None
