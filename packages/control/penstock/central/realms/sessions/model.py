"""Sessions: who is in, since when, and through what."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from penstock_contracts.ids import SessionId, TenantId, UserId

BROWSER_LIFE: Final = timedelta(hours=12)
CLIENT_LIFE: Final = timedelta(days=90)
REFRESH_LIFE: Final = timedelta(days=14)  # a client that is not used for this long is out
KEPT: Final = timedelta(days=30)  # after its end, for whoever looks into it
SEEN_EVERY: Final = timedelta(minutes=1)  # how exactly it is known when one was last used
AGENT_LENGTH_MAX: Final = 200


@dataclass(frozen=True)
class Session:
    """A browser (no client), or a client that someone let in."""

    id: SessionId
    tenant_id: TenantId
    user_id: UserId
    client_id: str | None
    parent_id: SessionId | None
    scope: str
    amr: tuple[str, ...]
    agent: str
    auth_at: datetime
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None

    @property
    def kind(self) -> str:
        return "browser" if self.client_id is None else "client"

    def live(self, now: datetime) -> bool:
        return self.ended_at is None and now < self.expires_at
