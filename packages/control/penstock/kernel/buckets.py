"""Token buckets: how much of something each may use, in constant time and bounded memory."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

KEPT_MAX: Final = 10_000


@dataclass(frozen=True)
class Rate:
    """So many each second, and so many at once after a rest."""

    per_s: float
    burst: int


@dataclass(frozen=True)
class Level:
    """A bucket after somebody took from it. `retry_after_s` is 0 if there was enough."""

    limit: int
    remaining: int
    full_in_s: int
    retry_after_s: int = 0


class Buckets:
    """A bucket for each name. The one that was used longest ago is forgotten first: it is full
    again sooner than any other."""

    def __init__(
        self, rate: Rate, *, clock: Callable[[], float] = time.monotonic, kept_max: int = KEPT_MAX
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._kept_max = kept_max
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, since when

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, name: str) -> Level:
        """One token, if there is one. Asking in vain takes nothing."""
        now = self._clock()
        tokens = self._tokens(name, now)
        if tokens < 1:
            self._keep(name, tokens, now)
            wait_s = max(1, math.ceil((1 - tokens) / self._rate.per_s))
            return Level(self._rate.burst, 0, self._full_in_s(tokens), wait_s)
        self._keep(name, tokens - 1, now)
        return Level(self._rate.burst, int(tokens - 1), self._full_in_s(tokens - 1))

    def give_back(self, name: str) -> None:
        """What was taken was not used after all."""
        now = self._clock()
        self._keep(name, min(self._rate.burst, self._tokens(name, now) + 1), now)

    def _tokens(self, name: str, now: float) -> float:
        kept = self._buckets.get(name)
        if kept is None:
            return self._rate.burst
        tokens, since = kept
        return min(self._rate.burst, tokens + max(0.0, now - since) * self._rate.per_s)

    def _keep(self, name: str, tokens: float, now: float) -> None:
        self._buckets[name] = (tokens, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > self._kept_max:
            self._buckets.popitem(last=False)

    def _full_in_s(self, tokens: float) -> int:
        return math.ceil((self._rate.burst - tokens) / self._rate.per_s)
