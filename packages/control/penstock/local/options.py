"""What `penstock up` was asked for."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    data: Path
    port: int
    nodes: int
    hardware: str
    demo: bool
    delay_ms: int | None
    faults: Path | None
    postgres_bin: Path | None
