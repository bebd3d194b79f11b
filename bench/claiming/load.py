"""A client that costs little itself: prepared requests on plain sockets, in its own process."""

import argparse
import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass, field

import uvloop

from . import mix


@dataclass
class Tally:
    took_s: list[float] = field(default_factory=list[float])
    placed: int = 0
    slots: int = 0
    refused: int = 0
    failed: int = 0
    ids: list[str] = field(default_factory=list[str])

    def count(self, status: int, body: bytes, took_s: float) -> None:
        self.took_s.append(took_s)
        if status == 201:
            made = json.loads(body)
            self.placed += 1
            self.slots += len(made["slots"])
            self.ids.append(made["id"])
        elif status == 409:
            self.refused += 1
        else:
            self.failed += 1


class Connection:
    """One keep-alive connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        return int(head[9:12]), await self._reader.readexactly(length)


async def connect(port: int, count: int) -> list[Connection]:
    return [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]


def request(token: str, project: str, rng: random.Random) -> bytes:
    wish = mix.wish(rng)
    body = json.dumps({"project": project, "sku": wish.sku, "gpus": wish.gpus}).encode()
    head = (
        f"POST /v1/allocations HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
        f"Idempotency-Key: {rng.getrandbits(96):x}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def closed_loop(port: int, requests: list[bytes], connections: int) -> Tally:
    """So many connections, each asking again as soon as it is answered."""
    tally, waiting = Tally(), iter(requests)

    async def client(connection: Connection) -> None:
        for prepared in waiting:
            started = time.perf_counter()
            status, body = await connection.ask(prepared)
            tally.count(status, body, time.perf_counter() - started)

    await asyncio.gather(*(client(one) for one in await connect(port, connections)))
    return tally


async def open_loop(port: int, requests: list[bytes], per_s: float) -> Tally:
    """Requests at their own times, however long the answers take: waiting counts."""
    tally = Tally()
    free = asyncio.Queue[Connection]()
    for one in await connect(port, 64):
        free.put_nowait(one)
    begin = time.perf_counter()

    async def ask(prepared: bytes, due: float) -> None:
        connection = await free.get()
        status, body = await connection.ask(prepared)
        tally.count(status, body, time.perf_counter() - due)
        free.put_nowait(connection)

    async with asyncio.TaskGroup() as group:
        for number, prepared in enumerate(requests):
            due = begin + number / per_s
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            group.create_task(ask(prepared, due))
    return tally


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
    if given.per_s:
        tally = uvloop.run(open_loop(given.port, requests, given.per_s))
    else:
        tally = uvloop.run(closed_loop(given.port, requests, given.connections))
    elapsed = time.perf_counter() - started
    print(json.dumps({"elapsed_s": elapsed, **vars(tally)}))


if __name__ == "__main__":
    main()
