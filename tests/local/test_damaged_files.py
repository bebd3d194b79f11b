"""`penstock up` on a folder with damaged files: it names the file, and starts nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.local import cluster, home, pump, tokens
from penstock.local import folder as folders
from penstock.local.errors import Refused
from penstock.local.home import DataMissing
from penstock.local.programs import PostgresFailed
from penstock_client import contexts, errors
from penstock_client.views.fleet import JoinToken

from .test_up import up

GARBAGE = b"\x00\xffgarbage"


@pytest.mark.parametrize("content", [b"", GARBAGE, b"{}", b"[]"])
@pytest.mark.parametrize(
    "name",
    ["agent/nodes/node-0001/membership.json", "site/membership/membership.json", "up.json"],
)
def test_up_names_a_damaged_file_and_starts_nothing(
    folder: Path, name: str, content: bytes
) -> None:
    path = folder / "data" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    refused = up(folder / "data", "--port", "0")
    assert refused.returncode == 2, refused.stderr
    assert str(path) in refused.stderr
    assert "put back a copy" in refused.stderr
    assert path.read_bytes() == content
    assert not (folder / "data" / "postgres").exists()


@pytest.mark.parametrize("content", [b"", GARBAGE, b"short"])
def test_up_names_a_damaged_password_and_starts_nothing(folder: Path, content: bytes) -> None:
    path = folder / "data" / "postgres" / "password"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    refused = up(folder / "data", "--port", "0")
    assert refused.returncode == 2, refused.stderr
    assert f"{path} holds no password" in refused.stderr
    assert list(path.parent.iterdir()) == [path]


def test_ports_that_are_none_are_refused(folder: Path) -> None:
    (folder / "up.json").write_text('{"hardware": "h100-8", "ports": {"site_join": "x"}}')
    refused = up(folder, "--port", "0")
    assert (refused.returncode, "site_join is no port" in refused.stderr) == (2, True)


@pytest.mark.parametrize("content", [b"", GARBAGE, b"pk_short", b"pk_with a space in the middle"])
def test_a_damaged_admin_token_is_refused(folder: Path, content: bytes) -> None:
    path = folder / "central" / "admin-token"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(Refused, match="admin-token holds no token"):
        folders.admin_token(folder)
    assert path.read_bytes() == content
    path.unlink()
    assert folders.admin_token(folder) == folders.admin_token(folder)


@pytest.mark.parametrize("content", [b"", b"\n", b"relative/place", GARBAGE])
def test_a_pointer_that_points_nowhere_is_refused(folder: Path, content: bytes) -> None:
    (folder / "elsewhere").write_bytes(content)
    with pytest.raises(DataMissing, match="elsewhere does not say where the database"):
        home.settle(folder)


@pytest.mark.parametrize("content", [b"", GARBAGE, None])
def test_a_database_without_a_version_is_refused(folder: Path, content: bytes | None) -> None:
    if content is not None:
        (folder / "PG_VERSION").write_bytes(content)
    with pytest.raises(PostgresFailed, match="PG_VERSION is gone or is no version"):
        cluster.refuse_other_major(folder, 17)


@pytest.mark.parametrize(
    "content", [b"", GARBAGE, b"[]", b'{"node-0001": 7}', b'{"node-0001": {}}']
)
def test_tokens_that_cannot_be_read_are_asked_for_again(folder: Path, content: bytes) -> None:
    (folder / "issued.json").write_bytes(content)
    made: JoinToken = json.loads('{"token": "t", "expires_at": "2999-01-01T00:00:00+00:00"}')
    tokens.write_for_nodes(folder, 1, lambda count: [made] * count)
    assert (folder / "tokens").read_text() == "t\n"


@pytest.mark.parametrize("content", [b"", GARBAGE, "²".encode(), b"9" * 30])
def test_a_mark_that_cannot_be_read_is_the_beginning(folder: Path, content: bytes) -> None:
    (folder / "events-seen").write_bytes(content)
    assert pump.mark_of(folder / "events-seen") == "0"
    (folder / "events-seen").write_bytes(b"17\n")
    assert pump.mark_of(folder / "events-seen") == "17"


TAKE = """
import sys
from pathlib import Path
from penstock.local import folder
data = Path(sys.argv[1])
lock = folder.take(data)
folder.write_ready(data, {"api": "http://127.0.0.1:1", "admin_token": "pk_x", "project": "p"})
print("ready", flush=True)
sys.stdin.read()
"""


def test_ready_json_of_a_killed_up_fools_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    piped = subprocess.PIPE
    command = [sys.executable, "-c", TAKE, str(folder / ".penstock")]
    running = subprocess.Popen(command, stdin=piped, stdout=piped, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    found = contexts.from_ready()
    assert found is not None
    assert found.token == "pk_x"
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    with pytest.raises(errors.PlatformEnded, match=r"ready\.json is left from .* was killed"):
        contexts.from_ready()
