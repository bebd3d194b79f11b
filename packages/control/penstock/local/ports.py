"""TCP ports on this machine's loopback."""

import errno
import random
import socket
from collections.abc import Container
from typing import Final

LOOPBACK: Final = "127.0.0.1"
# Below the range that the kernel hands to outgoing connections (32768 and up), so that
# no connection can take a port between two runs.
CHOICE: Final = range(20_000, 30_000)
ATTEMPTS: Final = 200


class PortsExhausted(Exception):
    """No free port was found."""


def trouble(port: int) -> str | None:
    """Why nothing can listen on this port; None if something can."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"port {port} is in use by another process"
            return f"port {port} cannot be used: {error.strerror}"
    return None


def pick(taken: Container[int] = ()) -> int:
    """A free port that is not among `taken`."""
    for _ in range(ATTEMPTS):
        port = random.choice(CHOICE)  # noqa: S311 not a secret
        if port not in taken and trouble(port) is None:
            return port
    raise PortsExhausted(
        f"no free port was found between {CHOICE.start} and {CHOICE.stop - 1} on {LOOPBACK}"
    )


def address(port: int) -> str:
    return f"{LOOPBACK}:{port}"
