"""A platform to measure: `penstock up` in a scratch folder, stopped at the end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Running:
    api: str
    token: str
    project: str
    sku: str
    ready_s: float  # from the command to its "Ready"
    pid: int


@contextmanager
def up(*, nodes: int, folder: Path | None = None) -> Generator[Running, None, None]:
    """Run `penstock up`; ready when it says so."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        data = folder or Path(scratch) / "data"
        Path(scratch).chmod(0o711)
        command = [Path(sys.executable).parent / "penstock", "up", "--port", "0"]
        started = time.monotonic()
        process = subprocess.Popen(
            [*command, "--data", data, "--nodes", str(nodes)], stdout=subprocess.PIPE, text=True
        )
        try:
            _until_ready(process)
            ready_s = time.monotonic() - started
            facts: dict[str, str] = json.loads((data / "ready.json").read_text())
            named = facts["api"], facts["admin_token"], facts["project"], facts["sku"]
            yield Running(*named, ready_s, process.pid)
        finally:
            os.kill(process.pid, signal.SIGTERM)
            process.wait(timeout=30)


def _until_ready(process: "subprocess.Popen[str]") -> None:
    if process.stdout is None:
        raise RuntimeError("penstock up has no output")
    for line in process.stdout:
        if line.startswith("Ready"):
            return
    raise RuntimeError("penstock up ended before it was ready")
