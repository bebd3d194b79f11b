"""What lives and does not answer is ended and started again."""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.local import health, ports
from penstock.local.database import KeptDatabase
from penstock.local.health import Health
from penstock.local.keeper import Child
from penstock.local.postgres import EmbeddedPostgres

from .places import QUICK
from .test_supervisor import SAY_READY, Ear, python, supervised

ANSWER = f"""{SAY_READY}
from http.server import BaseHTTPRequestHandler, HTTPServer
class Alive(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Alive)
print("serves as", os.getpid(), flush=True)
ready(pid=os.getpid())
server.serve_forever()
"""


def impatient(asked: Health) -> Health:
    """Patient enough for a busy machine: a healthy one must not be ended."""
    return replace(asked, every_s=0.1, answer_s_max=2.0, unanswered_max=2)


def answering(port: int, grace_s: float = 0.5) -> Child:
    asked = impatient(health.http(ports.address(port)))
    return replace(python("one", ANSWER, port, grace_s=grace_s), health=asked)


def test_a_child_that_is_stopped_is_ended_and_started_again(
    folder: Path, ends: Callable[[int], bool]
) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        said = await supervisor.start(answering(ports.pick()))
        first = int(str(said["pid"]))
        os.kill(first, signal.SIGSTOP)
        await ear.until("is ready again")
        assert ends(first)
        words = [line for _, line in ear.told]
        assert words[0] == "does not answer any more; it is ended"
        assert "SIGKILL" in words[1], "a stopped process hears no SIGTERM"
        await supervisor.stop()

    asyncio.run(scene())


def test_a_child_that_answers_is_left_alone_and_so_is_one_that_is_not_ready_yet(
    folder: Path,
) -> None:
    slow = ANSWER.replace("server = ", "time.sleep(1); server = ", 1)

    async def scene() -> None:
        supervisor, ear = supervised(folder)
        for code in (ANSWER, slow):
            port = ports.pick()
            asked = impatient(health.http(ports.address(port)))
            await supervisor.start(replace(python("one", code, port), health=asked))
        await asyncio.sleep(1)
        await supervisor.stop()
        assert ear.told == []

    asyncio.run(scene())


def test_a_database_that_is_stopped_is_ended_and_started_again(pg: Path) -> None:
    async def scene() -> None:
        server, ear = EmbeddedPostgres(pg, QUICK), Ear()
        asked = impatient(health.postgres(lambda: server.socket))
        kept = KeptDatabase(server, lambda line: ear.hear_told("postgres", line), asked)
        await kept.start()
        try:
            os.kill(server.pid, signal.SIGSTOP)
            await ear.until("does not answer any more")
            await ear.until("is ready again")
            assert await asyncio.to_thread(server.execute, "SELECT 1") == "1\n"
        finally:
            await kept.stop()

    asyncio.run(scene())
