"""Spin, as the tests use it: a model with one rule taken away, or none, and what it finds."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MODELS: Final = Path(__file__).parents[2] / "models"
PROGRAMS: Final = {"spin": "spin", "gcc": "gcc", "cpp": "cpp"}  # program → Debian package
SECONDS_MAX: Final = 240
MEMORY_MB_MAX: Final = 1500
DEPTH_MAX: Final = 10_000
FLAGS: Final = ("-w", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MB_MAX}")
SAFETY: Final = ("-DSAFETY", "-DNOCLAIM")


class SpinMissing(Exception):
    """Spin or its compiler is not here; the message says how to get it."""


@dataclass(frozen=True)
class Verdict:
    """`broken` names the property that failed (empty: none), `unreached` dead code."""

    broken: str
    states: int
    complete: bool
    unreached: tuple[str, ...]


def provide() -> None:
    """Ensures that Spin can be run. Only root on Debian can be helped."""
    missing = sorted({package for name, package in PROGRAMS.items() if not shutil.which(name)})
    if not missing:
        return
    wanted = " ".join(missing)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SpinMissing(f"the models need {wanted}: on Debian, `apt-get install {wanted}`")
    install = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "install", "-y", *missing]
    for command in (["apt-get", "update"], install):
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_MAX)


def check(folder: Path, model: str, *defines: str, live: bool = False) -> Verdict:
    """Search the whole state space of a model. `folder` is for what is made on the way."""
    source = MODELS / model
    given = [f"-D{define}" for define in defines]
    _run(folder, "spin", "-a", *given, str(source))
    flags = ("-DNFAIR=3",) if live else SAFETY
    speed = "-O0" if defines else "-O2"  # a mutant fails at once; compiling is what takes time
    _run(folder, "gcc", speed, *FLAGS, *flags, "-o", "pan", "pan.c")
    mode = ("-a", "-f") if live else ()
    said = _run(folder, "./pan", *mode, f"-m{DEPTH_MAX}")
    return Verdict(
        broken=_broken(folder, source, given, said),
        states=int(_number(r"(\d+) states, stored", said)),
        complete="errors: 0" in said
        and "Search not completed" not in said
        and "max search depth too small" not in said,
        unreached=_unreached(said, model),
    )


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _broken(folder: Path, source: Path, given: list[str], said: str) -> str:
    """The comment beside the assertion that fails when the trail is replayed."""
    if "errors: 0" in said:
        return ""
    if "acceptance cycle" in said:
        return "liveness"
    trail = folder / f"{source.name}.trail"
    assert trail.exists(), said
    replay = ["spin", *given, "-k", str(trail), "-p", str(source)]
    shown = subprocess.run(
        replay, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    line = int(_number(r":(\d+), Error: assertion violated", shown.stdout))
    comment = re.search(r"/\* ([A-Z ]+)", source.read_text().splitlines()[line - 1])
    assert comment, f"line {line} of {source.name} has an assertion without a name"
    return comment.group(1).strip()


def _unreached(said: str, model: str) -> tuple[str, ...]:
    """Statements of the model that no run reached, but for the ends of endless loops."""
    lines = re.findall(rf"{re.escape(model)}:(\d+), state \d+, \"(.*)\"", said)
    return tuple(f"{line}: {text}" for line, text in lines if text != "-end-")


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, f"nothing like {pattern!r} in:\n{text}"
    return found.group(1)
