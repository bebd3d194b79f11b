"""One address that leads to whichever of several processes is alive, as a balancer would."""

import contextlib
import socket
import threading
from collections.abc import Generator
from typing import Final

from penstock.local import ports

PIECE_BYTES: Final = 64 * 1024


class Forwarder:
    def __init__(self, listener: socket.socket, target: int) -> None:
        self._listener = listener
        self._target = target
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.address: Final = ports.address(listener.getsockname()[1])

    def point_to(self, target: int) -> None:
        """Lead to another port from now on, and cut who is connected."""
        with self._lock:
            self._target = target
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # the listener is closed
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        with self._lock:
            target = self._target
            self._open.add(near)
        try:
            far = socket.create_connection((ports.LOOPBACK, target))
        except OSError:
            near.close()
            return
        with self._lock:
            self._open.add(far)
        threading.Thread(target=self._pump, args=(far, near), daemon=True).start()
        self._pump(near, far)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                sink.sendall(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def listening(target: int) -> Generator[Forwarder]:
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        forwarder = Forwarder(listener, target)
        threading.Thread(target=forwarder.serve, daemon=True).start()
        try:
            yield forwarder
        finally:
            forwarder.point_to(target)
            listener.shutdown(socket.SHUT_RDWR)
