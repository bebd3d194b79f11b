"""The same over real gRPC, with a receiver that is killed for real."""

import asyncio
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc.aio
import pytest

from penstock.kernel.db import Database
from penstock.kernel.feed import Outbox
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import link, rpc

from . import diary
from .streams import Silent

pytestmark = pytest.mark.anyio

RECEIVER = Path(__file__).with_name("receiver.py")


@asynccontextmanager
async def sender(upper: Database, wakeups: Wakeups) -> AsyncGenerator[str, None]:
    """Serves the diary's feed; yields its address."""

    async def connect(stream: rpc.ServerStream, _context: rpc.ServerContext) -> None:
        with (
            Outbox(upper, wakeups, diary.FEED) as outbox,
            suppress(link.LinkClosed, grpc.aio.BaseError),
        ):
            await link.run(stream, outbox, Silent())

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((rpc.link_service(connect),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(grace=None)


async def test_a_receiver_killed_again_and_again_gets_everything_once(
    upper: Database, wakeups: Wakeups, lower: Database, site_url: str
) -> None:
    await diary.prepare(site_url)
    expected = [f"{number}" for number in range(1200)]
    for start in range(0, 1200, 100):
        await diary.append(upper, *expected[start : start + 100])
    rng = random.Random(7)
    async with sender(upper, wakeups) as address, asyncio.timeout(60):
        reached = 0
        while reached < len(expected):
            process = await asyncio.create_subprocess_exec(
                sys.executable, str(RECEIVER), site_url, address, stdout=asyncio.subprocess.PIPE
            )
            assert process.stdout is not None
            for _ in range(rng.randint(4, 9)):
                line = await process.stdout.readline()
                reached = int(line) if line else reached
                if reached == len(expected):
                    break
            process.kill()
            await process.wait()
    assert await diary.read(lower) == expected
