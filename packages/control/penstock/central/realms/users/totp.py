"""The second factor: time-based one-time passwords (RFC 6238), six digits every 30 s."""

import base64
import hmac
import os
from datetime import datetime
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

SECRET_BYTES: Final = 20
STEP_S: Final = 30
DIGITS: Final = 6
DRIFT_STEPS: Final = 1  # a clock may be half a minute off


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def shown(secret: bytes) -> str:
    """As people type it into an authenticator."""
    return base64.b32encode(secret).decode()


def from_shown(text: str) -> bytes:
    return base64.b32decode(text)


def uri(secret: bytes, email: str, realm: str) -> str:
    """What an authenticator reads from a QR code."""
    return _totp(secret).get_provisioning_uri(email, f"Penstock {realm}")


def step_of(secret: bytes, code: str, now: datetime, *, after: int) -> int | None:
    """The step that the code is for, if it is good and later than the last one used."""
    current = int(now.timestamp()) // STEP_S
    for step in range(current - DRIFT_STEPS, current + DRIFT_STEPS + 1):
        expected = code_at(secret, step * STEP_S)
        if step > after and hmac.compare_digest(expected.encode(), code.strip().encode()):
            return step
    return None


def code_at(secret: bytes, at_s: int) -> str:
    """What the authenticator shows at a time."""
    return _totp(secret).generate(at_s).decode()


def _totp(secret: bytes) -> TOTP:
    # SHA-1 because authenticators know no other; its weakness does not matter to HMAC.
    return TOTP(secret, DIGITS, SHA1(), STEP_S)  # noqa: S303
