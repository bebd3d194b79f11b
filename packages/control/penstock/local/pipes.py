"""Pipes from a child process, read line by line without a thread."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Final

PIECE_BYTES: Final = 64 * 1024
LINE_BYTES_MAX: Final = 64 * 1024  # a longer line is shown in pieces


class Pipe:
    def __init__(
        self, writer: int, reader: asyncio.StreamReader, transport: asyncio.ReadTransport
    ) -> None:
        self.writer = writer
        self._reader = reader
        self._transport = transport
        self._writer_open = True

    @classmethod
    async def open(cls) -> "Pipe":
        loop = asyncio.get_running_loop()
        reader_fd, writer_fd = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reader_fd, "rb", buffering=0)
        )
        return cls(writer_fd, reader, transport)

    def close_writer(self) -> None:
        """The child has its own copy; ours would keep the pipe from ever ending."""
        if self._writer_open:
            os.close(self.writer)
            self._writer_open = False

    def close(self) -> None:
        self.close_writer()
        self._transport.close()

    async def lines(
        self, copied: Callable[[bytes], None] = lambda _piece: None
    ) -> AsyncIterator[str]:
        """Each line as text; `copied` gets every byte as it was."""
        left = b""
        while piece := await self._reader.read(PIECE_BYTES):
            copied(piece)
            *whole, left = (left + piece).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")
            if len(left) > LINE_BYTES_MAX:
                yield left.decode(errors="replace")
                left = b""
        if left:
            yield left.decode(errors="replace")
