"""WebSockets with bounds: on what the other side may say, and on what it may leave unread."""

import asyncio
from typing import Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from penstock.kernel.http.unread import Unread

MESSAGE_BYTES_MAX: Final = 4096
FRAGMENTS_MAX: Final = 64  # of a message: empty ones are not counted by its size
LINGER_S: Final = 1.0
TOO_BIG: Final = 1009


class BoundedSocket(WebSocketsSansIOProtocol):
    """Reads nothing while what it wrote is not read: pings are answered by themselves, and their
    answers must not pile up."""

    _unread: Unread

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._unread = Unread(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.transport.pause_reading()
        self._unread.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.stop()
        if not self.read_paused:
            self.transport.resume_reading()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.close_sent:  # also by a refusal, which uvicorn would take for no answer at all
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(LINGER_S, self.transport.abort)  # closing waits until all is read

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:  # it sent frames before it was let in: there is no closing
            self.transport.abort()
            return
        super().handle_parser_exception()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < FRAGMENTS_MAX:
            super().handle_cont(event)
            return
        self.conn.fail(TOO_BIG, f"a message has at most {FRAGMENTS_MAX} fragments")
        self.handle_parser_exception()
