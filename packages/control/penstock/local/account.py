"""Which operating-system account the embedded database runs as, and what it can reach.

Postgres refuses to run as root. Started by root it runs as an unprivileged account;
started by anyone else it runs as that person, and there is no account to change to.
"""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFERRED: Final = ("postgres", "nobody")


class AccountMissing(Exception):
    """We are root and there is no ordinary account to run Postgres as."""


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


def choose(data: Path) -> Account | None:
    """None for ourselves; as root, the owner of existing data, else an unprivileged account."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(_name(owner.st_uid), owner.st_uid, owner.st_gid)
    for name in PREFERRED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise AccountMissing(
        f"Postgres cannot run as root, and neither {' nor '.join(PREFERRED)} exists here; "
        "run as an ordinary user, or add the user postgres"
    )


def reaches(account: Account | None, path: Path) -> bool:
    """Can this account enter (or execute) `path`? Asked of the kernel, as that account."""
    if account is None:
        return os.access(path, os.X_OK)
    asked = subprocess.run(  # noqa: S603 a fixed command; the path is an argument
        ["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)],
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        cwd="/",
        check=False,
    )
    return asked.returncode == 0


def give(account: Account | None, path: Path) -> None:
    """Make `path` the account's own, closed to everyone else."""
    path.chmod(0o700)
    if account is not None:
        os.chown(path, account.uid, account.gid)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
