"""Rounds: candidate and reference in turn, in one run; what a bad moment of the disk is."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SYNCS = 50


@dataclass(frozen=True)
class Round:
    ours: float
    reference: float
    syncs_per_s: float

    @property
    def ratio(self) -> float:
        return self.ours / self.reference


def alternate(ours: Callable[[], float], reference: Callable[[], float], count: int) -> list[Round]:
    """Measure each in turn; rounds in which the disk was far slower than usual do not count."""
    rounds = [Round(ours(), reference(), syncs_per_s()) for _ in range(count)]
    usual = statistics.median(r.syncs_per_s for r in rounds)
    return [r for r in rounds if r.syncs_per_s >= usual / 2]


def syncs_per_s() -> float:
    """How often a small write reaches the disk."""
    with tempfile.NamedTemporaryFile() as file:
        started = time.perf_counter()
        for _ in range(SYNCS):
            os.write(file.fileno(), b"x" * 512)
            os.fdatasync(file.fileno())
        return SYNCS / (time.perf_counter() - started)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
