"""PGDATA, the files of one Postgres cluster: made whole, and only by the right version."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from penstock.local import account, programs
from penstock.local.home import Home
from penstock.local.programs import PostgresFailed, Programs


class VersionMismatch(Exception):
    """The data was written by another major version of Postgres."""


def initialize(at: Home, used: Programs, *, synced: bool) -> None:
    """Make PGDATA whole or not at all: an interrupted initdb leaves only a draft."""
    draft = at.folder / "data.draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    account.give(at.account, draft)
    command = [used.path("initdb"), "-D", str(draft), "-U", "postgres", "--auth=trust"]
    command += ["--encoding=UTF8", "--locale=C", "--no-instructions"]
    command += [] if synced else ["--no-sync"]
    programs.run(command, at.account)
    draft.rename(at.data)


def write_doors(data: Path, with_password: Iterable[str]) -> None:
    """Who gets in, and how. No line for any network: even a changed listen_addresses lets nobody
    in."""
    asked = [f"local all {role} scram-sha-256" for role in with_password]
    wanted, path = "\n".join([*asked, "local all all trust"]) + "\n", data / "pg_hba.conf"
    if path.read_text() != wanted:  # a full disk keeps no server from starting
        path.write_text(wanted)


def refuse_other_major(data: Path, major: int) -> None:
    if not data.exists():
        return
    try:
        written_by = (data / "PG_VERSION").read_text().strip()
    except PermissionError as error:
        raise PostgresFailed(
            f"{data} belongs to {data.owner()}; run as that user, or as root"
        ) from error
    except (OSError, ValueError):
        written_by = ""
    if not written_by.isdigit():
        raise PostgresFailed(
            f"{data / 'PG_VERSION'} is gone or is no version, so {data} is no database that can be "
            "started: put back a copy of the whole folder"
        )
    if written_by != str(major):
        raise VersionMismatch(
            f"{data} was written by Postgres {written_by}, and this is Postgres {major}; "
            f"use --postgres-bin with version {written_by}, or move the data with pg_upgrade"
        )
