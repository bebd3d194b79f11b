"""Folders that the database's account can reach, even when the tests run as root."""

import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from penstock.local.postgres import EmbeddedPostgres

from .places import QUICK, quick_place

END_S_MAX = 20.0


@pytest.fixture
def folder() -> Generator[Path]:
    """pytest's own tmp_path is closed to every other account."""
    made = Path(tempfile.mkdtemp(prefix="penstock-test-", dir=quick_place()))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def ends() -> Callable[[int], bool]:
    """Did the process with this id end? Waits for it; the kernel tells."""

    def wait(pid: int) -> bool:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        ended = bool(poll.poll(END_S_MAX * 1000))
        os.close(descriptor)
        return ended

    return wait


@pytest.fixture(scope="session")
def made() -> Generator[Path]:
    """A database that was started and stopped once, to be copied: initdb takes a while."""
    with tempfile.TemporaryDirectory(prefix="penstock-test-", dir=quick_place()) as holder:
        Path(holder).chmod(0o711)
        with EmbeddedPostgres(Path(holder) / "pg", QUICK):
            pass
        yield Path(holder) / "pg"


@pytest.fixture
def pg(made: Path, folder: Path) -> Path:
    """A copy of it, with its owners."""
    subprocess.run(["cp", "-a", str(made), str(folder / "pg")], check=True)
    return folder / "pg"
