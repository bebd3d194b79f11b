"""Between a client and PostgreSQL: cuts a connection around its next COMMIT, or all for a while."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

HOST = re.compile(r"(?<=host=)[^&]*")


class CuttingProxy:
    def __init__(self, url: str, folder: Path) -> None:
        folder_of_server = unquote(HOST.findall(url)[0])
        self._target = f"{folder_of_server}/.s.PGSQL.5432"
        self.socket = folder / ".s.PGSQL.5432"
        self.url = HOST.sub(quote(str(folder)), url)
        self.armed = ""  # "before" or "after" the next commit
        self.cuts = 0
        self._away = False
        self._open: set[asyncio.StreamWriter] = set()

    def leave(self) -> None:
        """The server is away: every connection ends, and new ones end at once."""
        self._away = True
        for writer in self._open:
            writer.close()

    def come_back(self) -> None:
        self._away = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._away:
            writer.close()
            return
        self._open.add(writer)
        try:
            await self._pass_on(reader, writer)
        finally:
            self._open.discard(writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._target)
        cut = asyncio.Event()
        ways = [
            asyncio.create_task(self._up(reader, to_server, cut)),
            asyncio.create_task(self._down(from_server, writer, cut)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        to_server.close()
        writer.close()

    async def _up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while chunk := await reader.read(1 << 16):
            if self.armed and b"COMMIT" in chunk:
                self.cuts += 1
                when, self.armed = self.armed, ""
                if when == "before":
                    return
                cut.set()
            writer.write(chunk)
            await writer.drain()

    async def _down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while chunk := await reader.read(1 << 16):
            if cut.is_set():
                return  # it is committed, and nobody is told
            writer.write(chunk)
            with suppress(ConnectionError):
                await writer.drain()


@asynccontextmanager
async def between(url: str) -> AsyncGenerator[CuttingProxy, None]:
    folder = Path(tempfile.mkdtemp(prefix="cut-"))
    proxy = CuttingProxy(url, folder)
    server = await asyncio.start_unix_server(proxy.serve, proxy.socket)
    try:
        yield proxy
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
