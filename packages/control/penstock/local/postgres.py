"""An embedded Postgres: one folder, one private socket, no network.

Who gets in: the socket is in a directory of mode 0700, so only the account that the
database runs as, and root, can connect; inside it nobody is asked for a password but the planes,
which log in as elsewhere: each as a role that may only serve.
As root the database runs as `postgres` or `nobody`; where that account could not reach
the folder (say, under /root) the data is kept in /var/lib/penstock/ and FOLDER/elsewhere
says where.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from penstock.local import cluster, home, passwords, programs
from penstock.local.postmaster import Postmaster
from penstock.local.programs import PostgresFailed

ROLE: Final = "penstock"
DATABASES: Final = ("central", "site")
PORT: Final = 5432  # names the socket; nothing listens on the network
SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "wal_level": "replica",
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_writer_delay": "10ms",  # a batch writes much: most of it is on disk before its commit
    "log_checkpoints": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class Logins:
    """How a plane gets at its database; without an owner nothing is migrated."""

    serving: str
    owner: str | None


def serving_role(plane: str) -> str:
    return f"penstock_{plane}"


class EmbeddedPostgres:
    """The database in `folder`. Start it from a thread that stays: it dies with its thread.

    with EmbeddedPostgres(folder) as server:
        server.url("central")
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        bin_folder: Path | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.settings = {**SETTINGS, **(settings or {})}
        self._bin_folder = bin_folder
        self._lock: int | None = None
        self._postmaster: Postmaster | None = None
        self._socket: Path | None = None
        self._password_file = self.folder / "password"

    def start(self) -> None:
        """Start, and return when it accepts connections; does nothing if it runs already."""
        if self._postmaster and self._postmaster.running():
            return
        at = home.settle(self.folder)
        if self._lock is None:
            self._lock = home.lock(at.folder)
        used = programs.find(self._bin_folder, at.account)
        cluster.refuse_other_major(at.data, used.major)
        if not at.data.exists():
            cluster.initialize(at, used, synced=self.settings["fsync"] != "off")
        cluster.write_doors(at.data, map(serving_role, DATABASES))
        self._socket = self._socket or home.socket_folder(at)
        settings = {**self.settings, "unix_socket_directories": str(self._socket)}
        self._postmaster = Postmaster(at, used, settings)
        self._postmaster.start()
        self._ensure_roles_and_databases()

    def stop(self) -> None:
        """Disconnect everyone, write everything, end."""
        if self._postmaster:
            self._postmaster.stop()
        if self._socket and self._socket.parent != self._home_folder():
            shutil.rmtree(self._socket, ignore_errors=True)
        self._socket = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def kill(self) -> None:
        """End it as a crash would; `start` recovers."""
        if self._postmaster:
            self._postmaster.kill()

    def wait(self) -> None:
        """Return when it has ended, for whatever reason."""
        self._running().wait()

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        return self._running().pid

    @property
    def socket(self) -> Path:
        """Where it listens."""
        if self._socket is None:
            raise PostgresFailed("the embedded database is not started; it has no socket")
        return self._socket / f".s.PGSQL.{PORT}"

    def url(self, database: str, role: str = ROLE) -> str:
        """For asyncpg, psycopg and libpq alike."""
        if self._socket is None:
            raise PostgresFailed("the embedded database is not started; it has no URL")
        return f"postgresql://{role}@/{database}?host={quote(str(self._socket))}&port={PORT}"

    def serving_url(self, plane: str, database: str | None = None) -> str:
        """As the role with which a plane serves."""
        login = f"{serving_role(plane)}:{passwords.read(self._password_file)}"
        return self.url(database or plane, role=login)

    def logins(self, plane: str) -> Logins:
        return Logins(self.serving_url(plane), self.url(plane))

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make a database that `penstock` owns, and give its URL."""
        copied = f" TEMPLATE {_identifier(template)}" if template else ""
        self.execute(f"CREATE DATABASE {_identifier(name)} OWNER {ROLE}{copied}")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, and whoever is connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {_identifier(name)} WITH (FORCE)")

    def execute(self, sql: str, database: str = "postgres") -> str:
        """Run SQL as the superuser; rows come back as lines of |-separated text."""
        return self._running().psql(sql, self.url(database, role="postgres"))

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _running(self) -> Postmaster:
        if self._postmaster is None:
            raise PostgresFailed("the embedded database is not started")
        return self._postmaster

    def _home_folder(self) -> Path | None:
        return self._postmaster.home.folder if self._postmaster else None

    def _ensure_roles_and_databases(self) -> None:
        roles = self.execute("SELECT rolname FROM pg_roles").splitlines()
        if ROLE not in roles:
            self.execute(f"CREATE ROLE {ROLE} LOGIN CREATEROLE NOSUPERUSER")
        self._ensure_serving_roles(roles)
        present = self.execute("SELECT datname FROM pg_database").splitlines()
        for database in DATABASES:
            if database not in present:
                self.create_database(database)

    def _ensure_serving_roles(self, present: list[str]) -> None:
        made = not self._password_file.exists()
        password = passwords.new() if made else passwords.read(self._password_file)
        for role in map(serving_role, DATABASES):
            if role not in present:
                self.execute(f"CREATE ROLE {role} LOGIN NOINHERIT")
            if made or role not in present:
                self.execute(f"ALTER ROLE {role} PASSWORD '{passwords.verifier(password)}'")
        if made:  # at last: if it is not there, all of it is done again
            passwords.keep(self._password_file, password)


@contextlib.contextmanager
def temporary(
    settings: Mapping[str, str] | None = None,
    bin_folder: Path | None = None,
    within: Path | None = None,
) -> Generator[EmbeddedPostgres]:
    """A database in a folder of its own that is gone afterwards: for tests."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-pg-", dir=within))
    try:
        with EmbeddedPostgres(folder, settings, bin_folder) as server:
            yield server
    finally:
        pointer = folder / "elsewhere"
        if pointer.exists():
            shutil.rmtree(pointer.read_text().strip(), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _identifier(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a database name: use a-z, 0-9 and _")
    return f'"{name}"'
