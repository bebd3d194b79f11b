"""A tree like ours, to change and to look at."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LINTER: Final = Path(sys.executable).with_name("lint-imports")


@dataclass(frozen=True)
class Copy:
    root: Path

    def plant(self, module: str, text: str) -> None:
        """Something at the end of a module, which is made if there is none."""
        top = next(self.root.glob(f"packages/*/{module.partition('.')[0]}"))
        file = top.parent / f"{module.replace('.', '/')}.py"
        file.parent.mkdir(exist_ok=True)
        (file.parent / "__init__.py").touch()
        with file.open("a") as end:
            end.write(f"\n{text}\n")

    def lint(self) -> str:
        """What the import contracts say of it."""
        ran = self.run(str(LINTER), "--no-logo", "--no-cache")
        assert ran.returncode == int("BROKEN" in ran.stdout), ran.stdout + ran.stderr
        return ran.stdout

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        packages = os.pathsep.join(str(path) for path in self.root.glob("packages/*"))
        return subprocess.run(
            command, cwd=self.root, check=False, text=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": packages, "COLUMNS": "1000"},
        )  # fmt: skip


def make(within: Path) -> Copy:
    unneeded = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("packages", "tools"):
        shutil.copytree(ROOT / folder, within / folder, ignore=unneeded)
    shutil.copy(ROOT / "pyproject.toml", within)
    return Copy(within)
