"""One real process of the platform, that a test may kill, freeze, and start again."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from penstock.local.keeper import Child
from penstock.local.tether import tether
from penstock_contracts import failpoints

START_S_MAX: Final = 45.0
END_S_MAX: Final = 45.0


class NotReady(Exception):
    """The process did not become ready; the text has its last words."""


class Program:
    def __init__(self, child: Child, log: Path, points: Path) -> None:
        self.child = child
        self.log = log
        self._points = points
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0  # of its log, when it was noted

    @property
    def process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise NotReady(f"{self.child.name} was never started")
        return self._process

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, and return when it says that it is ready."""
        reader, writer = os.pipe()
        try:
            self._process = self._spawn(writer)
            os.close(writer)
            told, _, _ = select.select([reader], [], [], START_S_MAX)
            if not told or not os.read(reader, 4096):
                raise NotReady(f"{self.child.name} is not ready:\n{self.last_words()}")
        finally:
            os.close(reader)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def until_frozen(self) -> None:
        """Return when a failpoint has stopped it; the kernel tells."""
        stopped = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert stopped is not None
        assert stopped.si_code == os.CLD_STOPPED, self.last_words()
        self.note()

    def note(self) -> None:
        """What it writes from now on is what `until_written` reads."""
        self._read = self.log.stat().st_size

    def until_written(self, words: str, within_s: float = START_S_MAX) -> None:
        """Return when it has written the words since it was noted."""
        deadline = time.monotonic() + within_s
        while words not in self.log.read_bytes()[self._read :].decode(errors="replace"):
            assert self.running, self.last_words()
            assert time.monotonic() < deadline, f"{self.child.name} never wrote {words!r}"
            time.sleep(0.02)  # a file does not tell

    def restart(self) -> None:
        self.kill()
        self.start()

    def until_killed(self) -> None:
        """Return when it has died of SIGKILL; the kernel tells."""
        descriptor = os.pidfd_open(self.process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(END_S_MAX * 1000):
                raise TimeoutError(f"{self.child.name} still runs:\n{self.last_words()}")
        finally:
            os.close(descriptor)
        assert self.process.wait() == -signal.SIGKILL, self.last_words()

    def end(self) -> None:
        """Whatever it does, it is gone afterwards."""
        if self.running:
            self.process.send_signal(signal.SIGKILL)  # ends a frozen one too
            self.process.wait()

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def _spawn(self, ready: int) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            **self.child.environment,
            failpoints.FOLDER: str(self._points),
            "PENSTOCK_READY_FD": str(ready),
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.child.command,
                env=environment,
                pass_fds=(ready,),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=tether(signal.SIGKILL),
            )
