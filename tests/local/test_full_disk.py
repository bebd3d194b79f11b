"""`penstock up` on a disk that fills and is emptied: it says so, loses nothing and goes on."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from . import small_disk
from .test_up import UP

ROOM_MB = 400  # what a new platform takes, twice
WAIT_S_MAX = 90
TOLD = 400  # refusals: what is logged of them is more than a pipe holds
ASKED_MAX = 5000
LEASE = {"sku": "h100-8.slice", "gpus": 1}


@dataclass
class Running:
    process: "subprocess.Popen[str]"
    data: Path
    shown: list[str] = field(default_factory=list[str])

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.shown.append(line)

    def until(self, what: str, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S_MAX
        while not holds():
            assert self.process.poll() is None, self.words()
            assert time.monotonic() < deadline, f"{what}: not within {WAIT_S_MAX} s\n{self.words()}"
            time.sleep(0.2)

    def words(self) -> str:
        return "".join(self.shown[-40:])


@contextmanager
def up(data: Path) -> Generator[Running]:
    process = subprocess.Popen(
        [sys.executable, "-c", UP, "--data", str(data), "--port", "0", "--nodes", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    running = Running(process, data)
    threading.Thread(target=running.listen, daemon=True).start()
    try:
        running.until("ready", (data / "ready.json").exists)
        yield running
    finally:
        process.kill()
        process.wait()


class Caller:
    def __init__(self, data: Path) -> None:
        ready = json.loads((data / "ready.json").read_text())
        token = f"Bearer {ready['admin_token']}"
        self.tenant, self.home = ready["tenant"], ready["project"]
        self.http = httpx2.Client(
            base_url=ready["api"], headers={"Authorization": token}, timeout=30, trust_env=False
        )

    def lease(self) -> httpx2.Response:
        return self.http.post("/v1/allocations", json={"project": self.home, **LEASE})

    def release(self, id: str) -> httpx2.Response:
        return self.http.post(f"/v1/allocations/{id}/release")

    def status(self, id: str) -> str:
        seen = self.http.get(f"/v1/allocations/{id}")
        return seen.json()["status"] if seen.status_code == 200 else str(seen.status_code)

    def ready(self) -> int:
        return self.http.get("/readyz").status_code

    def project(self, name: str) -> httpx2.Response:
        return self.http.post("/v1/projects", json={"name": name, "tenant": self.tenant})


def is_told(answer: httpx2.Response) -> bool:
    """Whether it was refused for want of room; nothing else may go wrong."""
    if answer.is_success:  # there was room for it in what the database has already
        return False
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"].isdigit()
    assert answer.json()["code"] in ("disk_full", "unavailable"), answer.text
    return True


def test_a_full_disk_is_told_and_everything_goes_on_when_there_is_room(folder: Path) -> None:
    if shutil.disk_usage("/dev/shm").free < 1 << 30:
        pytest.skip("there is no memory for a disk of 400 MB")
    with small_disk.mounted(folder / "disk", ROOM_MB) as disk, up(disk.folder / "data") as running:
        caller = Caller(running.data)
        held = caller.lease().json()["id"]
        running.until("a lease", lambda: caller.status(held) == "active")

        disk.fill()
        running.until("unready", lambda: (disk.fill(), caller.ready() == 503)[1])
        told = 0
        for number in range(ASKED_MAX):
            told += is_told(caller.project(f"project-{number}"))
            if told == TOLD:
                break
        assert told == TOLD, "the disk was not full"
        is_told(caller.lease())
        is_told(caller.release(held))
        assert caller.http.get("/healthz").status_code == 200

        disk.free()
        running.until("ready again", lambda: caller.ready() == 200)
        running.until("a release", lambda: caller.release(held).status_code in (202, 409))
        running.until("released", lambda: caller.status(held) == "released")
        second = caller.lease()
        assert second.status_code == 201, second.text
        running.until("active", lambda: caller.status(second.json()["id"]) == "active")

        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0, running.words()
        assert not (running.data / "ready.json").exists()
