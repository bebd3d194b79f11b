"""A client that costs little itself: prepared requests on plain sockets, in its own process.

It shares the machine with what it measures, so it keeps answers as they are, and reads them when
all have come.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import uvloop

from . import mix

OPEN_LOOP_CONNECTIONS = 64


@dataclass
class Tally:
    took_s: list[float] = field(default_factory=list[float])
    answers: list[bytes] = field(default_factory=list[bytes])

    def told(self) -> dict[str, object]:
        """How long each took; how many were placed, refused, neither; what was placed."""
        parted = [(int(one[9:12]), one.partition(b"\r\n\r\n")[2]) for one in self.answers]
        made = [json.loads(body) for status, body in parted if status == 201]
        refused = sum(status == 409 for status, _ in parted)
        return {
            "took_s": self.took_s,
            "placed": len(made),
            "refused": refused,
            "failed": len(parted) - len(made) - refused,
            "ids": [one["id"] for one in made],
        }


GREETING = b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n"


class Connection(asyncio.Protocol):
    """One keep-alive connection, one request at a time."""

    def __init__(self, answered: Callable[["Connection", bytes], None]) -> None:
        self._answered = answered
        self._heard = b""
        self._transport: asyncio.Transport | None = None
        self.since = 0.0  # from when its request counts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def ask(self, request: bytes, since: float) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("central closed a connection")
        self.since = since
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._heard = heard = self._heard + data
        head, whole, body = heard.partition(b"\r\n\r\n")
        if whole and len(body) >= _length(head):
            self._heard = b""
            self._answered(self, heard)


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])


class Load:
    """Requests on some connections: at their own times, or as soon as a connection is free."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.tally = Tally()
        self._count = len(requests)
        self._waiting = deque(requests)
        self._due: deque[tuple[bytes, float]] = deque()
        self._free: deque[Connection] = deque()
        self._done = asyncio.get_running_loop().create_future()
        self._greeted = asyncio.get_running_loop().create_future()
        self._greetings = 0

    async def connect(self, port: int, count: int) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(count):
            _, connection = await loop.create_connection(
                lambda: Connection(self._answered), "127.0.0.1", port
            )
            self._free.append(connection)

    async def greet(self) -> None:
        """Every connection is accepted and answered before anything counts."""
        for connection in self._free:
            connection.ask(GREETING, 0.0)
        await self._greeted

    async def closed_loop(self) -> None:
        """Each connection asks again as soon as it is answered."""
        for prepared in self._waiting:
            self._due.append((prepared, 0.0))
        while self._free and self._due:
            self._next(self._free.pop())
        await self._done

    async def open_loop(self, per_s: float) -> None:
        """However long the answers take, the next request comes: waiting counts."""
        begin = time.perf_counter()
        for number, prepared in enumerate(self._waiting):
            due = begin + number / per_s
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            self._due.append((prepared, due))
            if self._free:
                self._next(self._free.popleft())
        await self._done

    def _next(self, connection: Connection) -> None:
        prepared, due = self._due.popleft()
        connection.ask(prepared, due or time.perf_counter())

    def _answered(self, connection: Connection, answer: bytes) -> None:
        if not self._greeted.done():
            self._greetings += 1
            if self._greetings == len(self._free):
                self._greeted.set_result(None)
            return
        self.tally.took_s.append(time.perf_counter() - connection.since)
        self.tally.answers.append(answer)
        if self._due:
            self._next(connection)
        else:
            self._free.append(connection)
        if len(self.tally.answers) == self._count:
            self._done.set_result(None)


def request(token: str, project: str, rng: random.Random) -> bytes:
    wish = mix.wish(rng)
    body = json.dumps({"project": project, "sku": wish.sku, "gpus": wish.gpus}).encode()
    head = (
        f"POST /v1/allocations HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
        f"Idempotency-Key: {rng.getrandbits(96):x}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def run(requests: Sequence[bytes], port: int, connections: int, per_s: float) -> Load:
    load = Load(requests)
    await load.connect(port, OPEN_LOOP_CONNECTIONS if per_s else connections)
    await load.greet()
    await (load.open_loop(per_s) if per_s else load.closed_loop())
    return load


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--per-s", type=float, default=0.0)
    given = parser.parse_args()
    token = sys.stdin.read().strip()  # not an argument: those are for all to see
    rng = random.Random(given.seed)
    requests = [request(token, given.project, rng) for _ in range(given.count)]
    started = time.perf_counter()
    load = uvloop.run(run(requests, given.port, given.connections, given.per_s))
    elapsed = time.perf_counter() - started
    print(json.dumps({"elapsed_s": elapsed, **load.tally.told()}))


if __name__ == "__main__":
    main()
