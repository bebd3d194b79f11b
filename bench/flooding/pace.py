"""A client that asks at its own pace, however long the answers take: waiting counts."""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import dataclass, field

import uvloop

from flooding.connections import Connection, connect


@dataclass(frozen=True)
class Answer:
    due_s: float  # since the client began
    took_s: float  # since it was due
    status: int


@dataclass
class Pace:
    """One tenant's client: the same request, so many a second, until it is told to stop."""

    port: int
    token: str
    per_s: float
    connections: int
    answers: list[Answer] = field(default_factory=list[Answer])
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self) -> None:
        free = asyncio.Queue[Connection]()
        for one in await connect(self.port, self.connections):
            free.put_nowait(one)
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            number = 0
            while not self.over.is_set():
                due_s = number / self.per_s
                await asyncio.sleep(max(0.0, begin + due_s - time.perf_counter()))
                group.create_task(self._ask(free, begin, due_s))
                number += 1

    async def _ask(self, free: "asyncio.Queue[Connection]", begin: float, due_s: float) -> None:
        connection = await free.get()
        status, _ = await connection.ask(request(self.token))
        took_s = time.perf_counter() - begin - due_s
        self.answers.append(Answer(due_s, took_s, status))
        free.put_nowait(connection)


def request(token: str) -> bytes:
    head = f"GET /v1/projects HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n"
    return head.encode()


async def flood(pace: Pace, for_s: float) -> None:
    print("begun", flush=True)
    asyncio.get_running_loop().call_later(for_s, pace.over.set)
    await pace.keep()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--per-s", type=float, required=True)
    parser.add_argument("--for-s", type=float, required=True)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    token = sys.stdin.read().strip()  # not an argument: those are for all to see
    pace = Pace(given.port, token, given.per_s, given.connections)
    uvloop.run(flood(pace, given.for_s))
    print(json.dumps([(one.due_s, one.took_s, one.status) for one in pace.answers]))


if __name__ == "__main__":
    main()
