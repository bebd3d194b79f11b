"""Signing keys and their life."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

LIFE: Final = timedelta(days=30)  # after which the next key takes over
# How long a retired key is still believed: longer than anything that it signed lives.
TRUSTED_AFTER: Final = timedelta(hours=1)


class State(StrEnum):
    NEXT = "next"  # published, so that others can learn of it; signs nothing yet
    CURRENT = "current"  # signs
    RETIRED = "retired"  # signs no more; what it signed holds until it runs out
    DISTRUSTED = "distrusted"  # leaked: nothing that it signed holds


@dataclass(frozen=True)
class Key:
    kid: str
    state: State
    public: dict[str, str]
    created_at: datetime
    changed_at: datetime

    def believed(self, now: datetime) -> bool:
        if self.state is State.RETIRED:
            return now < self.changed_at + TRUSTED_AFTER
        return self.state is not State.DISTRUSTED

    def overdue(self, now: datetime) -> bool:
        return self.state is State.CURRENT and now >= self.changed_at + LIFE
