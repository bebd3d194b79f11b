"""The Postgres server process: started, known to be ready, stopped."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.local import programs
from penstock.local.home import Home
from penstock.local.logfile import LogFile
from penstock.local.programs import PostgresFailed, Programs
from penstock.local.serverlog import ServerLog
from penstock.local.tether import tether

READY: Final = b"database system is ready to accept connections"
START_S_MAX: Final = 120.0  # crash recovery may have much to read again
STOP_S_MAX: Final = 30.0
QUIT_S_MAX: Final = 5.0
LEFTOVER: Final = re.compile(r"pre-existing shared memory block .* is still in use")
LEFTOVER_ATTEMPTS: Final = 20
LEFTOVER_WAIT_S: Final = 0.25


class Postmaster:
    def __init__(self, home: Home, used: Programs, settings: Mapping[str, str]) -> None:
        self.home = home
        self._programs = used
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._log: ServerLog | None = None

    @property
    def pid(self) -> int:
        return self._started().pid

    def running(self) -> bool:
        if self._log and self._log.ended():
            self._started().wait()  # its pipe is closed: it is on its last instruction
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start and return when ready; whatever a killed launcher left is ended first."""
        self._end_leftover()
        for attempt in range(1, LEFTOVER_ATTEMPTS + 1):
            said = self._try_start()
            if said is None:
                return
            # Backends of a killed server end by themselves, but tell nobody.
            if not LEFTOVER.search(said) or attempt == LEFTOVER_ATTEMPTS:
                raise PostgresFailed(f"Postgres ended before it was ready:\n{said}")
            threading.Event().wait(LEFTOVER_WAIT_S)

    def stop(self) -> None:
        """Fast shutdown: sessions are ended, everything is written."""
        if not self.running():
            return
        process = self._started()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)  # recovery at the next start
            try:
                process.wait(QUIT_S_MAX)
            except subprocess.TimeoutExpired:  # it is stopped, or stuck
                self.kill()
        self._drain()

    def kill(self) -> None:
        if self.running():
            self._started().kill()
            self._started().wait()
        self._drain()

    def wait(self) -> None:
        """Return when the server, and every process of it, has ended."""
        if self._log:
            self._log.wait_for_end()
            self._started().wait()

    def psql(self, sql: str, url: str) -> str:
        command = [self._programs.path("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1"]
        return programs.run([*command, "-c", sql, "-d", url], None)

    def _try_start(self) -> str | None:
        """None when it is ready, else its last words."""
        self._process, log = self._spawn()
        self._log = log
        if not log.ready_or_ended.wait(START_S_MAX):
            self.kill()
            return f"not ready after {START_S_MAX:.0f} s\n{log.tail()}"
        if log.ready:
            return None
        self._process.wait()
        return log.tail()

    def _spawn(self) -> tuple[subprocess.Popen[bytes], ServerLog]:
        runner = self.home.account
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        reader, writer = os.pipe()
        log = ServerLog(os.fdopen(reader, "rb"), LogFile(self.home.folder / "postgres.log"), READY)
        try:
            process = subprocess.Popen(  # noqa: S603 our own arguments
                [self._programs.path("postgres"), "-D", str(self.home.data), *options],
                user=runner.uid if runner else None,
                group=runner.gid if runner else None,
                extra_groups=[] if runner else None,
                cwd="/",
                env=programs.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=writer,
                start_new_session=True,  # Ctrl-C is for the launcher, which stops us in order
                preexec_fn=tether(signal.SIGINT),
            )
        finally:
            os.close(writer)
        return process, log

    def _end_leftover(self) -> None:
        """Ensures that no server of an earlier launcher runs on this data."""
        path = self.home.data / "postmaster.pid"
        try:
            pid = int(path.read_text().split(maxsplit=1)[0])
        except FileNotFoundError:
            return
        except (ValueError, IndexError):
            raise PostgresFailed(
                f"{path} names no process: make sure that no Postgres runs on {self.home.data}, "
                "then delete that file"
            ) from None
        if _works_in(pid, self.home.data):
            command = [self._programs.path("pg_ctl"), "stop", "-w", "-m", "fast"]
            command += ["-t", str(int(STOP_S_MAX)), "-D", str(self.home.data)]
            programs.run(command, self.home.account)
        else:  # the number may since have gone to some other process
            path.unlink(missing_ok=True)

    def _drain(self) -> None:
        if self._log:
            self._log.wait_for_end(STOP_S_MAX)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise PostgresFailed("Postgres is not started")
        return self._process


def _works_in(pid: int, data: Path) -> bool:
    """A postmaster's working directory is its data."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except PermissionError:
        return False  # somebody else's process
    except FileNotFoundError:
        # Gone; or there is no /proc here, and pg_ctl can tell by itself.
        return not Path("/proc/self").exists()
