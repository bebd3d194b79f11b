"""`penstock up` refuses what it cannot do, before it starts anything."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.local import folder as folders
from penstock.local import memory, ports

UP = "from cyclopts import App; from penstock.local.command import up; App(default_command=up)()"


def up(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", UP, "--data", str(data), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_second_up_on_the_same_folder_is_refused(folder: Path) -> None:
    folders.take(folder / "data")
    refused = up(folder / "data")
    assert refused.returncode == 2
    assert "another `penstock up` is running" in refused.stderr


def test_a_port_in_use_is_refused(folder: Path) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = up(folder / "data", "--port", port)
    assert refused.returncode == 2
    assert f"port {port} is in use" in refused.stderr
    assert "--port" in refused.stderr
    assert not (folder / "data" / "postgres").exists()


def test_unknown_hardware_is_refused(folder: Path) -> None:
    refused = up(folder / "data", "--port", "0", "--hardware", "abacus-8")
    assert refused.returncode == 2
    assert "abacus-8" in refused.stderr
    assert not (folder / "data" / "postgres").exists()


def test_changed_hardware_is_refused(folder: Path) -> None:
    memory.keep(folder, memory.Memory("l40s-4"))
    refused = up(folder, "--port", "0")
    assert refused.returncode == 2
    assert "--hardware l40s-4" in refused.stderr


def test_one_database_url_without_the_other_is_refused(folder: Path) -> None:
    url = {"PENSTOCK_CENTRAL_DATABASE_URL": "postgresql://x@/y"}
    refused = up(folder / "data", "--port", "0", **url)
    assert refused.returncode == 2
    assert "PENSTOCK_SITE_DATABASE_URL" in refused.stderr


@pytest.mark.parametrize("asked", [("--nodes", "0"), ("--port", "65536"), ("--delay-ms", "-1")])
def test_numbers_out_of_range_are_refused(folder: Path, asked: tuple[str, str]) -> None:
    assert up(folder / "data", *asked).returncode != 0
    assert not (folder / "data").exists()


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    (folder / "file").touch()
    refused = up(folder / "file" / "data")
    assert refused.returncode == 2
    assert "cannot be used as the data folder" in refused.stderr


def test_ready_json_of_an_earlier_run_is_removed_first(folder: Path) -> None:
    folders.write_ready(folder, {"api": "http://127.0.0.1:1"})
    assert (folder / "ready.json").stat().st_mode & 0o777 == 0o600
    up(folder, "--port", "0", "--hardware", "abacus-8")
    assert not (folder / "ready.json").exists()
