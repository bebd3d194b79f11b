"""Which of the times that a site reports can be. Pure.

A site's clock is an input, never a fact: what central itself knows bounds it. A lease is active
after it was placed, and stops after its release was asked for; nothing is reported before it
happened. Within SKEW of these bounds two honest clocks may differ, so the bound counts. Beyond
it the time is refused: another counts, in the tenant's favour, until an operator settles it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from penstock.central.allocations.model import Allocation, Desired, Observed

SKEW: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Window:
    """When something can have happened, as far as central knows."""

    earliest: datetime
    latest: datetime
    because: str  # why not earlier

    def nearest(self, at: datetime) -> datetime:
        return min(max(at, self.earliest), self.latest)

    def refusal(self, at: datetime) -> str:
        """Why it cannot have happened then; empty if it can."""
        if at < self.earliest - SKEW:
            return f"its site reported {at:%Y-%m-%dT%H:%M:%SZ}; {self.because}"
        if at > self.latest + SKEW:
            return (
                f"its site reported {at:%Y-%m-%dT%H:%M:%SZ}; "
                f"central knew of it at {self.latest:%Y-%m-%dT%H:%M:%SZ}"
            )
        return ""


def window(allocation: Allocation, now: datetime) -> Window:
    """When its next observation can have been made."""
    known = [(allocation.placed_at or now, "it was placed at {}")]
    if allocation.observed is Observed.ACTIVE and allocation.observed_at is not None:
        known.append((allocation.observed_at, "it was active at {}"))
        if allocation.desired is Desired.RELEASED:
            known.append((allocation.desired_at, "its release was asked for at {}"))
    earliest, because = max(known, key=lambda bound: bound[0])
    return Window(min(earliest, now), now, because.format(f"{earliest:%Y-%m-%dT%H:%M:%SZ}"))


def in_favour(window: Window, seen: Observed) -> datetime:
    """What counts of a time that was refused: a tenant does not pay for a clock that lies."""
    return window.latest if seen is Observed.ACTIVE else window.earliest
