"""Plain sockets that speak just enough HTTP."""

import asyncio


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
