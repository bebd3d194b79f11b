"""What is exchanged for tokens: codes, device codes, refresh tokens."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from penstock_contracts.ids import SessionId, UserId

CODE_LIFE: Final = timedelta(minutes=1)
DEVICE_LIFE: Final = timedelta(minutes=10)
POLL_INTERVAL_S: Final = 5
SLOWER_BY_S: Final = 5  # RFC 8628: what a client that asks too often has to add


@dataclass(frozen=True)
class Code:
    """Someone let a client in; the client has not come for its tokens yet, or has."""

    client_id: str
    user_id: UserId
    browser_id: SessionId
    redirect_uri: str
    scope: str
    nonce: str | None
    challenge: str
    amr: tuple[str, ...]
    auth_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    session_id: SessionId | None = None


@dataclass(frozen=True)
class Device:
    """A client without a browser waits for someone to let it in."""

    hash: bytes
    client_id: str
    user_code: str
    scope: str
    agent: str
    expires_at: datetime
    interval_s: int
    polled_at: datetime | None = None
    decision: str | None = None
    user_id: UserId | None = None
    amr: tuple[str, ...] = ()
    auth_at: datetime | None = None
    session_id: SessionId | None = None

    def hasty(self, now: datetime) -> bool:
        """Whether it asks sooner than it was told to."""
        # A second for the network: the interval is between answers, we see questions.
        allowed = timedelta(seconds=self.interval_s - 1)
        return self.polled_at is not None and now < self.polled_at + allowed


@dataclass(frozen=True)
class Refresh:
    session_id: SessionId
    expires_at: datetime
    used_at: datetime | None


def normal_user_code(typed: str) -> str:
    """As it is stored, however it was typed."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())
    return f"{letters[:4]}-{letters[4:8]}"
