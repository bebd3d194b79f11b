"""Standard streams that are full, closed or left: one line and an exit code, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .stand_in import Api

PAGE = {"items": [{"id": "tenant_1", "name": "acme", "status": "active"}], "next": None}
PENSTOCK = f"{sys.executable} -m penstock_client.main"
COMMANDS = (
    "tenant ls", "tenant ls --json", "tenant ls --curl", "tenant --help", "--help", "--version",
    "completion bash", "events --limit 1", "up --help",
)  # fmt: skip


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def asked(here: Api) -> Api:
    here.on("GET", "/v1/tenants", PAGE)
    here.emit({"sequence": 1, "type": "x", "subject": "y", "time": "2026-01-01T00:00:00Z"})
    return here


@pytest.mark.parametrize("stdout", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("asked")
def test_an_answer_that_cannot_be_written_is_one_line_and_a_failure(
    command: str, stdout: str
) -> None:
    ran = shell(f"{PENSTOCK} {command} {stdout}")
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr.startswith("penstock: the answer cannot be written: ")
    assert len(ran.stderr.splitlines()) == 1, ran.stderr


@pytest.mark.usefixtures("asked")
def test_a_reader_that_leaves_is_no_failure_to_tell_of() -> None:
    ran = shell(f"{{ {PENSTOCK} tenant ls --json; echo $? >&2; }} | true")
    assert ran.stderr.splitlines() in (["141"], ["0"]), ran.stderr


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
@pytest.mark.usefixtures("asked")
def test_a_refusal_that_cannot_be_told_is_still_an_exit_code(stderr: str) -> None:
    assert shell(f"{PENSTOCK} nonsense {stderr}").returncode == 2
    assert shell(f"{PENSTOCK} tenant show x {stderr}").returncode == 1
    assert shell(f"{PENSTOCK} tenant show x --json {stderr}").returncode == 1
    assert shell(f"{PENSTOCK} --version >/dev/full {stderr}").returncode == 1
    well = shell(f"{PENSTOCK} tenant ls {stderr}")
    assert (well.returncode, "acme" in well.stdout) == (0, True)


@pytest.mark.parametrize("stdin", ["<&-", "</dev/null"])
def test_a_secret_that_nobody_gives_is_a_usage_error(stdin: str) -> None:
    ran = shell(f"{PENSTOCK} context add x --api https://penstock.example {stdin}")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_an_argument_that_is_no_text_is_a_usage_error(asked: Api) -> None:
    argv = [*PENSTOCK.split(), "tenant", "show", os.fsdecode(b"\xff")]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
    assert asked.calls == []


def test_contexts_that_cannot_be_kept_name_their_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config").write_text("a file where a folder should be")
    monkeypatch.setenv("PENSTOCK_TOKEN", "pk_x")
    ran = shell(f"{PENSTOCK} context add x --api https://penstock.example")
    assert ran.returncode == 1
    assert "contexts.json" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
