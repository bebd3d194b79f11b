"""Logs on a full disk, and logs that nobody reads: the work goes on, and the gap is told."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from penstock.local.logfile import LogFile
from penstock.local.serverlog import ServerLog

from . import small_disk
from .small_disk import SmallDisk
from .test_supervisor import SAY_READY, SERVE, python, supervised

FLOOD_BYTES = 300_000  # several times what a pipe holds


@pytest.fixture
def disk(folder: Path) -> Generator[SmallDisk]:
    with small_disk.mounted(folder / "disk", megabytes=1) as made:
        yield made


def test_a_log_on_a_full_disk_drops_and_says_so_when_there_is_room(disk: SmallDisk) -> None:
    path = disk.folder / "logs" / "one.log"
    log = LogFile(path)
    log.write(b"first\n")
    disk.fill()
    for _ in range(100):
        log.write(b"x" * 99 + b"\n")
    assert log.dropped_bytes > 0
    disk.free()
    log.write(b"last\n")
    log.close()
    first, *_, gap, last = path.read_text().splitlines()
    assert (first, last) == ("first", "last")
    assert "bytes of this log could not be written" in gap


def test_a_log_that_cannot_be_turned_over_goes_on_when_it_can(disk: SmallDisk) -> None:
    path = disk.folder / "logs" / "one.log"
    log = LogFile(path, bytes_max=10)
    path.parent.rename(disk.folder / "away")
    path.parent.touch()  # so that no folder can be made there
    for _ in range(3):
        log.write(b"twelve bytes")
    path.parent.unlink()
    log.write(b"last\n")
    log.close()
    assert path.read_text().endswith("could not be written)\nlast\n")


def test_a_child_whose_log_has_no_room_is_not_blocked(disk: SmallDisk) -> None:
    flood = f"""{SAY_READY}
def on_usr1(*_):
    for _ in range({FLOOD_BYTES // 100}):
        print("x" * 99, flush=True)
    print("still here", flush=True)
signal.signal(signal.SIGUSR1, on_usr1)
{SERVE}
while True:
    signal.pause()
"""

    async def scene() -> None:
        supervisor, ear = supervised(disk.folder)
        said = await supervisor.start(python("one", flood))
        disk.fill()
        os.kill(int(str(said["pid"])), signal.SIGUSR1)
        await ear.until("still here")
        disk.free()
        await supervisor.stop()
        assert ear.told == []

    asyncio.run(scene())


def test_the_servers_log_is_read_to_its_end_on_a_full_disk(disk: SmallDisk) -> None:
    log = LogFile(disk.folder / "postgres.log")
    disk.fill()
    write = f"[print('y' * 99) for _ in range({FLOOD_BYTES // 100})]"
    reader, writer = os.pipe()
    copied = ServerLog(os.fdopen(reader, "rb"), log, b"is ready")
    server = subprocess.Popen([sys.executable, "-c", write], stdout=writer)
    os.close(writer)
    try:
        assert server.wait(30) == 0
        copied.wait_for_end(30)
        assert copied.ended()
    finally:
        server.kill()
        server.wait()


UNREAD = """
import os, sys
from penstock.kernel import log
log.configure("test")
logger = log.get("flood")
for number in range(20_000):
    logger.info("line", number=number, filler="x" * 200)
print("printed", file=sys.stderr)
os.write(1, b"went on\\n")
sys.stdin.readline()
logger.info("last")
"""


def test_a_plane_whose_log_is_not_read_goes_on_and_says_what_is_missing() -> None:
    piped = subprocess.PIPE
    command = [sys.executable, "-c", UNREAD]
    plane = subprocess.Popen(command, stdin=piped, stdout=piped, stderr=piped, text=True)
    try:
        assert plane.stdout is not None
        assert plane.stderr is not None
        went_on, _, _ = select.select([plane.stdout], [], [], 30)
        assert went_on, "it waits for somebody to read its log"
        for line in plane.stderr:
            if '"event":"log lines dropped"' in line:
                break
        _, logged = plane.communicate("go\n", timeout=30)
    finally:
        plane.kill()
        plane.wait()
    assert '"event":"last"' in logged.splitlines()[-1]
