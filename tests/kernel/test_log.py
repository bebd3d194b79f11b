"""Each line of a log is JSON, whoever wrote it; an outage of the database is few of them."""

import json
import subprocess
import sys
from typing import Any

import pytest
from structlog import DropEvent

from penstock.kernel import outages

BEGIN = """
import asyncio, gc, logging, sys, threading, traceback, warnings
import asyncpg
from penstock.kernel import log
log.configure("central")
ours = log.get("ours")

def fail(error):
    raise error
"""
SOURCES = {
    "ours": "try: fail(ValueError('v'))\nexcept ValueError as e: ours.error('failed', exc_info=e)",
    "library": "try: fail(ValueError('v'))\nexcept ValueError: logging.getLogger('uvicorn.error')"
    ".exception('Exception in ASGI application\\n')",
    "bad arguments": "logging.getLogger('lib').warning('%d of %d', 'one')",
    "warning": "warnings.warn('old\\nand older')",
    "thread": "t = threading.Thread(target=fail, args=(ValueError('v'),)); t.start(); t.join()",
    "task": """
async def main():
    asyncio.create_task(asyncio.sleep(0, fail)).add_done_callback(lambda _: fail(ValueError('v')))
    forgotten = asyncio.ensure_future(never())
    await asyncio.sleep(0.01)
    del forgotten
    gc.collect()
async def never():
    fail(ValueError('v'))
asyncio.run(main())
""",
    "destructor": """
class Bad:
    def __del__(self):
        fail(ValueError('v'))
Bad()
""",
    "printed": """
try:
    fail(ValueError('v'))
except ValueError:
    traceback.print_exc()
print('some\\nwords', file=sys.stderr)
""",
    "uncaught": "fail(ValueError('v'))",
}
OUTAGE = """
for number in range(1_000):
    error = asyncpg.ConnectionDoesNotExistError(f'gone {number}')
    ours.error('round failed', exc_info=error)
    ours.error('all failed', exc_info=ExceptionGroup('many', [error, OSError('gone')]))
    try:
        raise RuntimeError('response already started') from error
    except RuntimeError:
        logging.getLogger('uvicorn.error').exception(f'Exception in task\\n{number}')
assert log.back()
assert not log.back()
ours.error('round failed', exc_info=error)
ours.error('another matter', exc_info=ValueError('v'))
ours.error('another matter', exc_info=ValueError('v'))
"""


def lines(program: str) -> list[dict[str, Any]]:
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, check=False
    )
    assert not ran.stdout
    return [json.loads(line) for line in ran.stderr.splitlines()]


@pytest.mark.parametrize("source", SOURCES)
def test_each_line_is_json_of(source: str) -> None:
    written = lines(SOURCES[source])
    assert written
    for line in written:
        assert {"event", "level", "plane", "source", "timestamp"} <= line.keys()
    if source not in ("bad arguments", "warning"):
        traces = [line["exception"] for line in written if "exception" in line]
        assert traces
        assert all(trace.rstrip().endswith("ValueError: v") for trace in traces)


def test_what_failed_for_want_of_the_database_is_told_once_without_a_traceback() -> None:
    written = [(line["event"], line.get("error")) for line in lines(OUTAGE)]
    assert written == [
        ("round failed", "gone 0"),
        ("all failed", "gone 0"),
        ("Exception in task", "gone 0"),
        ("round failed", "gone 999"),
        ("another matter", None),
        ("another matter", None),
    ]


def test_it_is_told_again_after_a_while_with_how_often_it_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rarely = outages.Outages()

    def told() -> dict[str, Any] | None:
        try:
            event = {"event": "x", "exc_info": OSError("gone")}
            return dict(rarely.tell_rarely(None, "error", event))
        except DropEvent:
            return None

    assert told() == {"event": "x", "error": "gone"}
    assert [told(), told()] == [None, None]
    monkeypatch.setattr(outages, "EVERY_S", 0.0)
    assert told() == {"event": "x", "error": "gone", "unsaid": 2}
