"""People of a realm, and what keeps a guesser out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from penstock_contracts.ids import TenantId, UserId

PASSWORD_LENGTH_MIN: Final = 12
PASSWORD_LENGTH_MAX: Final = 200
INVITATION_LIFE: Final = timedelta(days=7)
INVITATION_KEPT: Final = timedelta(days=30)  # after it was accepted, or ran out
FREE_FAILURES: Final = 5  # that cost nothing but the attempt
FIRST_LOCK: Final = timedelta(seconds=30)
LONGEST_LOCK: Final = timedelta(minutes=15)


@dataclass(frozen=True)
class User:
    id: UserId
    tenant_id: TenantId
    email: str
    name: str
    role: str
    password: str | None
    totp: bytes | None
    totp_step: int
    failures: int
    locked_until: datetime | None
    created_at: datetime
    disabled_at: datetime | None = None

    def locked(self, now: datetime) -> bool:
        return self.locked_until is not None and now < self.locked_until


def lock_until(failures: int, now: datetime) -> datetime | None:
    """After so many failures in a row: when the next attempt counts again."""
    beyond = failures - FREE_FAILURES
    if beyond < 0:
        return None
    return now + min(FIRST_LOCK * 2 ** min(beyond, 16), LONGEST_LOCK)


def password_fault(password: str, email: str) -> str | None:
    """Why this cannot be a password, in words for the one who chose it."""
    if len(password) < PASSWORD_LENGTH_MIN:
        return f"A password has at least {PASSWORD_LENGTH_MIN} characters."
    if len(password) > PASSWORD_LENGTH_MAX:
        return f"A password has at most {PASSWORD_LENGTH_MAX} characters."
    if len(set(password)) < 5 or password.lower() in (email, email.partition("@")[0]):
        return "This password is too easy to guess."
    return None
