"""A primary and a standby, each a real server, with an address that leads to either."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from penstock.kernel import migrations
from penstock.local import account, home, postmaster
from penstock.local.postgres import EmbeddedPostgres

from . import proxy
from .proxy import Proxy

MEMORY: Final = Path("/dev/shm")
SETTINGS: Final = {"fsync": "off", "shared_buffers": "16MB", "max_connections": "120"}
READ_ONLY: Final = b"database system is ready to accept read-only connections"
PLANES: Final = ("central", "site")


@dataclass
class Pair:
    primary: EmbeddedPostgres
    standby: EmbeddedPostgres
    proxy: Proxy

    def url(self, plane: str) -> str:
        """The address, with the login with which the plane serves."""
        login = self.primary.serving_url(plane).partition("//")[2].partition("@")[0]
        return self.proxy.url(plane, role=login)

    def lead_to_standby(self) -> None:
        self.proxy.lead_to(socket_of(self.standby))

    def lead_to_primary(self) -> None:
        self.proxy.lead_to(socket_of(self.primary))


def socket_of(server: EmbeddedPostgres) -> Path:
    found = re.search(r"host=([^&]*)", server.url("postgres"))
    assert found is not None
    return proxy.socket_of(Path(unquote(found[1])))


@contextmanager
def pair() -> Generator[Pair]:
    """Databases for both planes; the standby is as the primary was, and stays so."""
    within = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="penstock-failover-", dir=within))
    folder.chmod(0o711)
    primary = EmbeddedPostgres(folder / "primary", SETTINGS)
    standby = EmbeddedPostgres(folder / "standby", SETTINGS)
    try:
        primary.start()
        for plane in PLANES:
            asyncio.run(migrations.migrate(primary.url(plane), plane))
        primary.stop()
        _copy(primary, standby)
        primary.start()
        _start_standby(standby)
        with proxy.leading_to(socket_of(primary)) as leading:
            yield Pair(primary, standby, leading)
    finally:
        standby.stop()
        primary.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _copy(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    here, there = home.settle(primary.folder), home.settle(standby.folder)
    shutil.copytree(here.data, there.data)
    shutil.copy(primary.folder / "password", standby.folder)
    (there.data / "standby.signal").touch()
    for path in (there.data, *there.data.rglob("*")):
        account.give(there.account, path)


def _start_standby(standby: EmbeddedPostgres) -> None:
    usual = postmaster.READY
    setattr(postmaster, "READY", READ_ONLY)  # noqa: B010 it is Final
    try:
        standby.start()
    finally:
        setattr(postmaster, "READY", usual)  # noqa: B010
