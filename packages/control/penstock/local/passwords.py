"""The password of the planes' logins: made once, kept in a file of its owner alone."""

import base64
import hashlib
import hmac
import re
import secrets
from pathlib import Path
from typing import Final

from penstock_contracts import files
from penstock_contracts.files import Damaged

PASSWORD: Final = re.compile(rb"[A-Za-z0-9_-]{43}")
AGAIN: Final = "put back a copy, or delete it: the next start makes a new one"
ROUNDS: Final = 1  # more would slow down who guesses; nobody guesses 32 random bytes


def new() -> str:
    return secrets.token_urlsafe(32)


def keep(path: Path, password: str) -> None:
    files.write_private(path, f"{password}\n".encode())


def read(path: Path) -> str:
    try:
        password = path.read_bytes().strip()
    except FileNotFoundError:
        raise Damaged(path, "is gone", AGAIN) from None
    if not PASSWORD.fullmatch(password):
        raise Damaged(path, "holds no password of the planes' logins", AGAIN)
    return password.decode()


def verifier(password: str) -> str:
    """What the server keeps (SCRAM-SHA-256), so that the password is in no command and no log."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
    client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored, keyed = (base64.b64encode(part).decode() for part in (salt, client, server))
    return f"SCRAM-SHA-256${ROUNDS}:{salt_text}${stored}:{keyed}"
