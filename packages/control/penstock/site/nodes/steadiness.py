"""How steady a node's link is. Pure.

Links that come and go are damped as routers damp routes: the first few ends cost nothing;
each further one doubles the time for which the next link must hold before its node counts
as connected. A link that broke the protocol costs that at once. Ten quiet minutes forgive.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FREE: Final = 3  # so many ends cost nothing: restarts, upgrades, a cable
SHORT: Final = timedelta(seconds=60)  # a link that lasted longer did not flap
FORGIVEN: Final = timedelta(minutes=10)
DOUBLINGS_MAX: Final = 5


@dataclass(frozen=True)
class Steadiness:
    """How often a link ended too early of late, and when last."""

    flaps: int = 0
    flapped_at: datetime | None = None

    def recent(self, now: datetime) -> int:
        if self.flapped_at is None or now - self.flapped_at > FORGIVEN:
            return 0
        return self.flaps

    def ended(self, began: datetime | None, now: datetime, *, faulty: bool) -> "Steadiness":
        """After one more link ended, which began then."""
        if faulty:
            return self._worse(now, FREE + 1)
        if began is not None and now - began > SHORT:
            return self
        return self._worse(now, 1)

    def _worse(self, now: datetime, by: int) -> "Steadiness":
        return Steadiness(min(self.recent(now) + by, FREE + 1 + DOUBLINGS_MAX), now)

    def hold_s(self, now: datetime, first_s: float) -> float:
        """For how long the next link must hold; `first_s` is the first time that costs."""
        beyond = self.recent(now) - FREE
        return first_s * 2.0 ** (beyond - 1) if beyond > 0 else 0.0
