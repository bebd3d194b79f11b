"""Limits on what comes before a body: the target and the headers.

The parser itself takes a head of any size, for any time, so one that never ends is cut off where
bytes arrive; a head that is whole is judged by the edge, which can say what is wrong with it.

A header that decides something may be there once: of two, one reader could take the first and
another the last.
"""

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.kernel.errors import BadRequest, HeadTooLarge, Problem, TargetTooLong, TooSlow
from penstock.kernel.http.clients import Client
from penstock.kernel.http.problems import render
from penstock.kernel.http.unread import Unread

TARGET_BYTES_MAX: Final = 8 * 1024
HEADER_BYTES_MAX: Final = 8 * 1024
HEADERS_BYTES_MAX: Final = 32 * 1024
HEADERS_MAX: Final = 100
HEAD_BYTES_MAX: Final = 64 * 1024  # as it arrives, before it is whole
HEAD_S_MAX: Final = 20.0  # from when there is room for one until it is whole
# Not among them: `X-Forwarded-For`, whose lines are one list, and what only describes.
SINGLE: Final = frozenset({
    b"authorization", b"content-length", b"content-type", b"cookie", b"host", b"idempotency-key",
    b"last-event-id", b"origin", b"sec-fetch-site", b"transfer-encoding", b"upgrade",
    b"x-correlation-id", b"x-forwarded-proto", b"x-reason",
})  # fmt: skip
LINGER_S: Final = 1.0  # closing at once would take back the answer: what is unread resets


def refusal(scope: Scope) -> Problem | None:
    """Why the head is not accepted, if it is not."""
    target = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if target > TARGET_BYTES_MAX:
        return TargetTooLong(f"the target is longer than {TARGET_BYTES_MAX} bytes")
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if len(headers) > HEADERS_MAX:
        return HeadTooLarge(f"there are more than {HEADERS_MAX} headers")
    sizes = [len(name) + len(value) for name, value in headers]
    if max(sizes, default=0) > HEADER_BYTES_MAX:
        return HeadTooLarge(f"one header is longer than {HEADER_BYTES_MAX} bytes")
    if sum(sizes) > HEADERS_BYTES_MAX:
        return HeadTooLarge(f"the headers are longer than {HEADERS_BYTES_MAX} bytes together")
    return _repeated([name for name, _ in headers if name in SINGLE])


def _repeated(names: list[bytes]) -> Problem | None:
    if len(names) == len(set(names)):
        return None
    name = next(name for name in names if names.count(name) > 1).decode()
    return BadRequest(
        f"the header {name} is there more than once; nothing was done",
        code="header_repeated",
        suggestion="send it once",
    )


def only(scope: Scope, name: bytes) -> bytes:
    """The value of a header that is there once; nothing if it is not."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0] if len(values) == 1 else b""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose heads have an end, and come to it in time.

    The clock runs while nothing but a head can come: from the connection on, and from the end of
    each answer. Whoever says nothing after an answer is let go sooner, by uvicorn itself.
    """

    head_s_max = HEAD_S_MAX
    _in_head = False
    _head_bytes = 0
    _refused = False
    _clock: asyncio.TimerHandle | None = None
    _peer: Client
    _unread: Unread

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._peer = Client(transport.get_extra_info("socket").fileno())
        self._unread = Unread(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._peer.leave()
        self._stop_clock()
        self._unread.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.stop()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES_MAX:
            self._refuse(HeadTooLarge(f"the head is longer than {HEAD_BYTES_MAX} bytes"))

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()
        self.scope.setdefault("state", {})["client"] = self._peer

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_clock()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        another = bool(self.pipeline)  # came meanwhile, and is served now
        super().on_response_complete()
        if not another and not self.transport.is_closing():
            self._start_clock()

    def _start_clock(self) -> None:
        self._stop_clock()
        self._clock = self.loop.call_later(self.head_s_max, self._give_up)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _give_up(self) -> None:
        if self._in_head and not self._refused:
            self._refuse(TooSlow(f"the head did not arrive within {self.head_s_max:g} s"))
        else:
            self.transport.close()

    def _refuse(self, why: Problem) -> None:
        self._refused = True
        answer = render(why, "")
        phrase = HTTPStatus(why.status).phrase.encode()
        lines = [b"HTTP/1.1 %d %s" % (why.status, phrase), b"connection: close"]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.loop.call_later(LINGER_S, self.transport.close)
