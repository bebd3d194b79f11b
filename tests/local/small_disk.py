"""A small disk of its own, that a test can fill and empty."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    def fill(self) -> None:
        """Leave no byte. Whoever writes at the same time may take back some: so more than once."""
        with (self.folder / "ballast").open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        (self.folder / "ballast").unlink()


@contextmanager
def mounted(folder: Path, megabytes: int) -> Generator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder.mkdir(mode=0o711)
    options = f"size={megabytes}m,mode=0711"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
