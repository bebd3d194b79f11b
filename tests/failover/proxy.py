"""Between a plane and Postgres: leads to one server or another, or swallows and never resets."""

import contextlib
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Final

from penstock.local import ports
from penstock.local.postgres import PORT, ROLE

PIECE_BYTES: Final = 64 * 1024


class Proxy:
    """An address on the network that leads to a server's socket."""

    def __init__(self, listener: socket.socket, target: Path) -> None:
        self._listener = listener
        self._target = target
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._era = 0  # connections of an earlier one are swallowed
        self._swallows = False
        self.dialled = 0
        self.port: Final[int] = listener.getsockname()[1]

    def url(self, database: str, role: str = ROLE) -> str:
        return f"postgresql://{role}@{ports.LOOPBACK}:{self.port}/{database}?sslmode=disable"

    def lead_to(self, target: Path) -> None:
        """Another server from now on; who is connected is cut off."""
        with self._lock:
            self._target = target
            self._cut()

    def swallow(self) -> None:
        """From now on nothing gets through in either direction, and nobody is told."""
        with self._lock:
            self._era += 1
            self._swallows = True

    def pass_on(self) -> None:
        """New connections get through. Those that were swallowed stay so for ever."""
        with self._lock:
            self._era += 1
            self._swallows = False

    def close(self) -> None:
        with self._lock:
            self._cut()
        self._listener.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # the listener is closed
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _cut(self) -> None:
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _connect(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self._lock:
            self.dialled += 1
            target, era, swallows = self._target, self._era, self._swallows
            self._open |= {near, far}
        if swallows:
            return  # it stays open, and is never read from
        try:
            far.connect(str(target))
        except OSError:
            near.close()
            return
        threading.Thread(target=self._pump, args=(far, near, era), daemon=True).start()
        self._pump(near, far, era)

    def _pump(self, source: socket.socket, sink: socket.socket, era: int) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                if era == self._era:
                    sink.sendall(piece)
        if era != self._era:
            return  # the other end is not told
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def socket_of(folder: Path) -> Path:
    return folder / f".s.PGSQL.{PORT}"


@contextlib.contextmanager
def leading_to(target: Path) -> Generator[Proxy]:
    with socket.create_server((ports.LOOPBACK, 0), backlog=128) as listener:
        proxy = Proxy(listener, target)
        threading.Thread(target=proxy.serve, daemon=True).start()
        try:
            yield proxy
        finally:
            proxy.close()
