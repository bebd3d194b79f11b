"""The embedded database after an unclean end, of itself or of its launcher."""

import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.local import account, programs
from penstock.local.home import FolderTaken
from penstock.local.postgres import EmbeddedPostgres

from .places import QUICK

LAUNCHER = """
import os, pwd, sys
from pathlib import Path
from penstock.local.postgres import EmbeddedPostgres
if len(sys.argv) > 2:  # now, because that user may not be able to reach the interpreter
    user = pwd.getpwnam(sys.argv[2])
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
with EmbeddedPostgres(Path(sys.argv[1]), {"fsync": "off"}) as server:
    server.execute("CREATE TABLE IF NOT EXISTS kept(); INSERT INTO kept DEFAULT VALUES", "site")
    print(server.pid, server.execute("SELECT count(*) FROM kept", "site").strip(), flush=True)
    sys.stdin.read()
"""


def launch(folder: Path, *user: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(folder), *user],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )


def hear(launcher: subprocess.Popen[str]) -> list[int]:
    assert launcher.stdout is not None
    return [int(word) for word in launcher.stdout.readline().split()]


def test_what_was_committed_survives_the_death_of_the_postmaster(pg: Path) -> None:
    with EmbeddedPostgres(pg) as server:
        server.execute("CREATE TABLE kept AS SELECT 7 AS number", "central")
        server.kill()
        server.start()
        assert server.execute("SELECT number FROM kept", "central") == "7\n"


def test_waiting_hears_a_postmaster_that_someone_else_killed(pg: Path) -> None:
    with EmbeddedPostgres(pg, QUICK) as server:
        heard = threading.Event()
        threading.Thread(target=lambda: (server.wait(), heard.set()), daemon=True).start()
        os.kill(server.pid, signal.SIGKILL)
        assert heard.wait(10)
        server.start()
        assert server.execute("SELECT 1") == "1\n"


def test_a_killed_launcher_leaves_no_postmaster(pg: Path, ends: Callable[[int], bool]) -> None:
    launcher = launch(pg)
    (postmaster, _) = hear(launcher)
    launcher.kill()
    launcher.wait()
    assert ends(postmaster)


def test_a_launcher_takes_over_at_once_from_one_that_was_killed(
    pg: Path, ends: Callable[[int], bool]
) -> None:
    postmaster = 0
    for expected in (1, 2, 3):
        launcher = launch(pg)
        (postmaster, kept) = hear(launcher)
        assert kept == expected
        launcher.kill()
        launcher.wait()
    assert ends(postmaster)


def test_a_postmaster_that_still_runs_is_stopped_and_started_anew(pg: Path) -> None:
    runner = account.choose(pg / "data")
    pg_ctl = programs.find(None, runner).path("pg_ctl")
    options = f"-c listen_addresses= -c unix_socket_directories={pg}/socket"
    command = [pg_ctl, "start", "-w", "-D", str(pg / "data"), "-o", options]
    programs.run([*command, "-l", "/dev/null"], runner)
    left = int((pg / "data" / "postmaster.pid").read_text().split()[0])
    with EmbeddedPostgres(pg, QUICK) as server:
        assert server.pid != left
        assert server.execute("SELECT 1") == "1\n"


def test_a_stale_pid_file_that_names_another_process_is_put_aside(pg: Path) -> None:
    bystander = subprocess.Popen(["/bin/sh", "-c", "read _"], stdin=subprocess.PIPE)
    (pg / "data" / "postmaster.pid").write_text(f"{bystander.pid}\n")
    with EmbeddedPostgres(pg, QUICK) as server:
        assert server.execute("SELECT 1") == "1\n"
    assert bystander.poll() is None
    bystander.communicate(b"\n")


def test_an_interrupted_initdb_leaves_nothing_in_the_way(folder: Path) -> None:
    draft = folder / "pg" / "data.draft"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(folder / "pg", QUICK) as server:
        assert server.execute("SELECT 1") == "1\n"
    assert not draft.exists()


def test_two_launchers_cannot_have_one_folder(pg: Path) -> None:
    launcher = launch(pg)
    hear(launcher)
    with pytest.raises(FolderTaken, match="in use by another process"):
        EmbeddedPostgres(pg, QUICK).start()
    launcher.communicate("")
    assert launcher.returncode == 0
    with EmbeddedPostgres(pg, QUICK) as server:
        assert server.execute("SELECT count(*) FROM kept", "site") == "1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_an_ordinary_user_runs_it_as_itself_and_root_can_go_on_with_it(folder: Path) -> None:
    owned = folder / "of-nobody"
    owned.mkdir(mode=0o711)
    nobody = pwd.getpwnam("nobody")
    os.chown(owned, nobody.pw_uid, nobody.pw_gid)
    launcher = launch(owned / "pg", "nobody")
    (postmaster, kept) = hear(launcher)
    assert kept == 1
    assert Path(f"/proc/{postmaster}").stat().st_uid == nobody.pw_uid
    launcher.communicate("")
    assert launcher.returncode == 0
    with EmbeddedPostgres(owned / "pg", QUICK) as server:
        assert server.execute("SELECT count(*) FROM kept", "site") == "1\n"
        assert Path(f"/proc/{server.pid}").stat().st_uid == nobody.pw_uid
