"""What is known of a loop's runs in this process, for operators and for metrics."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

WORDS_MAX: Final = 500  # of an error
RUNS: Final = Counter("penstock_loop_runs", "Runs of a loop that ended", ["loop", "outcome"])
SECONDS: Final = Histogram("penstock_loop_run_seconds", "How long a run of a loop took", ["loop"])
LAST_SUCCESS: Final = Gauge(
    "penstock_loop_last_success_timestamp_seconds", "When a run of a loop last ended well", ["loop"]
)


class Outcome(StrEnum):
    OK = "ok"  # the last run did all there was to do; or the run that never ends goes on
    FAILED = "failed"  # the last run did not, and is tried again
    WAITING = "waiting"  # nothing has run here yet, or another process leads


@dataclass
class Runs:
    """Of one loop. A run that was cut short by a cancellation counts as none."""

    loop: str
    running: bool = False
    began_at: datetime | None = None
    ended_at: datetime | None = None
    seconds: float | None = None  # that the last one took
    outcome: Outcome = Outcome.WAITING
    error: str = ""
    count: int = 0  # that ended
    failures: int = 0  # of these

    def __post_init__(self) -> None:
        for outcome in (Outcome.OK, Outcome.FAILED):
            RUNS.labels(self.loop, outcome)  # shown from the start, as 0

    @contextmanager
    def one(self) -> Generator[None]:
        """Notes the run that the block is; its failure goes on to whoever runs it."""
        self.running, self.began_at = True, datetime.now(UTC)
        began_s = time.perf_counter()
        try:
            yield
        except Exception as error:
            self._end(began_s, Outcome.FAILED, str(error) or type(error).__name__)
            raise
        else:
            self._end(began_s, Outcome.OK)
            LAST_SUCCESS.labels(self.loop).set_to_current_time()
        finally:
            self.running = False

    def go_on(self) -> None:
        """It runs, and that is all there will be to say of it."""
        self.outcome, self.error = Outcome.OK, ""

    def hand_over(self) -> None:
        """Another process may run it from now on."""
        self.outcome = Outcome.WAITING

    def _end(self, began_s: float, outcome: Outcome, error: str = "") -> None:
        self.ended_at, self.seconds = datetime.now(UTC), time.perf_counter() - began_s
        self.outcome, self.error = outcome, error[:WORDS_MAX]
        self.count += 1
        self.failures += outcome is Outcome.FAILED
        RUNS.labels(self.loop, outcome).inc()
        SECONDS.labels(self.loop).observe(self.seconds)
