"""A driver in a package of its own, tests/toy_driver: found and used without touching another file.

It is installed as an installer would: its modules and what its pyproject.toml declares, in a folder
on the path. Everything runs in processes of their own.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from . import packages

TOY: Final = Path(__file__).parent.parent / "toy_driver"
SPOILED: Final = "        self._here(wanted).suspended = True\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    declared = "\n".join(
        f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    packages.install(site, project["name"], project["version"], declared, {})
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TOY / "toy_realms", site / "toy_realms", ignore=ignored)
    return site


def run(site: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        [sys.executable, *arguments], cwd=site.parent, env=environment, text=True,
        capture_output=True, timeout=200, check=False,
    )  # fmt: skip


def conformance(site: Path) -> "subprocess.CompletedProcess[str]":
    """The toy's own tests, where nothing of ours is but what is installed."""
    check = str(shutil.copy(TOY / "check_toy.py", site.parent))
    return run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", check)


def test_it_is_listed_with_its_version(site: Path) -> None:
    ran = run(site, "-m", "penstock_client.main", "driver", "ls", "--json")
    items = json.loads(ran.stdout)["items"]
    [toy] = [each for each in items if each["name"] == "toy"]
    assert (toy["kind"], toy["version"], toy["package"]) == ("realm", "3.1.4", "toy-realms")
    assert (toy["sentence"], toy["broken"]) == ("Hosts realms in memory.", None)
    assert {each["name"] for each in items} >= {"embedded", "keycloak"}, "beside the others"


def test_it_passes_its_conformance_suite(site: Path) -> None:
    ran = conformance(site)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "14 passed, 1 skipped" in ran.stdout


def test_the_suite_fails_a_driver_that_breaks_a_rule(site: Path) -> None:
    module = site / "toy_realms" / "driver.py"
    source = module.read_text()
    assert SPOILED in source
    module.write_text(source.replace(SPOILED, "        self._here(wanted)\n"))
    ran = conformance(site)
    assert ran.returncode == 1
    assert "test_7_nobody_gets_a_token_while_it_is_suspended" in ran.stdout
    assert "1 failed" in ran.stdout


OPENED: Final = """
import asyncio, sys
from pathlib import Path
from penstock.central.realms.hosts import configured
from penstock.central.settings import CentralSettings

settings = CentralSettings(
    database_url="", data=Path("."), drivers=Path(sys.argv[1]), realm_provider="play"
)

async def main():
    async with configured.opened(settings) as providers:
        print(sorted((name, type(each).__name__) for name, each in providers.items()))

asyncio.run(main())
"""


def test_central_opens_it_from_an_operators_file(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "drivers.toml"
    file.write_text('[realm.toy]\n[realm.play]\ndriver = "toy"\nrealms_max = 3\n')
    ran = run(site, "-c", OPENED, str(file))
    assert ran.stdout == "[('play', 'ToyRealms'), ('toy', 'ToyRealms')]\n", ran.stderr
    file.write_text('[realm.play]\ndriver = "toy"\nrealms_max = 300\n')
    ran = run(site, "-c", OPENED, str(file))
    assert f"{file}: realm.play.realms_max: must be from 1 to 100" in ran.stderr
