"""Children: ready, restarted, stopped in order, and never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.local.supervisor import Child, ChildFailed, Supervisor

SAY_READY = """
import json, os, signal, sys, time
def ready(**facts):
    with os.fdopen(int(os.environ["PENSTOCK_READY_FD"]), "w") as out:
        out.write(json.dumps(facts) + "\\n")
"""
SERVE = f"""{SAY_READY}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("hello", os.getpid(), flush=True)
ready(pid=os.getpid())
signal.pause()
"""


def python(name: str, code: str, *arguments: object, grace_s: float = 10.0) -> Child:
    command = (sys.executable, "-c", code, *map(str, arguments))
    return Child(name, command, {"WHO": name}, grace_s=grace_s)


class Ear:
    """Hears what children write and what becomes of them."""

    def __init__(self) -> None:
        self.wrote: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self._changed = asyncio.Event()

    def hear_written(self, name: str, line: str) -> None:
        self.wrote.append((name, line))
        self._changed.set()

    def hear_told(self, name: str, line: str) -> None:
        self.told.append((name, line))
        self._changed.set()

    async def until(self, said: str) -> None:
        async with asyncio.timeout(15):
            while not any(said in line for _, line in self.wrote + self.told):
                self._changed.clear()
                await self._changed.wait()


def supervised(folder: Path) -> tuple[Supervisor, Ear]:
    ear = Ear()
    return Supervisor(folder / "logs", ear.hear_written, ear.hear_told), ear


def test_a_child_is_ready_when_it_says_so_and_its_words_are_kept(folder: Path) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        said = await supervisor.start(python("one", SERVE))
        await ear.until("hello")
        await supervisor.stop()
        assert ear.wrote == [("one", f"hello {said['pid']}")]
        assert (folder / "logs" / "one.log").read_text() == f"hello {said['pid']}\n"
        assert ear.told == []

    asyncio.run(scene())


def test_a_child_that_dies_is_started_again(folder: Path) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        said = await supervisor.start(python("one", SERVE))
        os.kill(int(str(said["pid"])), signal.SIGKILL)
        await ear.until("is ready again")
        assert ear.told[0] == ("one", "ended (SIGKILL); starts again in 0.2 s")
        await supervisor.stop()

    asyncio.run(scene())


def test_a_child_that_crashes_at_first_is_tried_again(folder: Path) -> None:
    code = f"""{SAY_READY}
from pathlib import Path
mark = Path(sys.argv[1])
if not mark.exists():
    mark.touch()
    sys.exit(7)
{SERVE}"""

    async def scene() -> None:
        supervisor, ear = supervised(folder)
        await supervisor.start(python("one", code, folder / "mark"))
        assert ear.told == [("one", "ended (exit code 7); starts again in 0.2 s")]
        await supervisor.stop()

    asyncio.run(scene())


def test_a_child_that_was_called_wrongly_is_not_tried_again(folder: Path) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        complaint = "import sys; print('no such profile', file=sys.stderr); sys.exit(2)"
        with pytest.raises(ChildFailed, match=r"exit code 2(.|\n)*no such profile(.|\n)*one\.log"):
            await supervisor.start(python("one", complaint))
        assert ear.told == []
        await supervisor.stop()

    asyncio.run(scene())


def test_a_program_that_does_not_exist_is_a_failure_and_not_a_hang(folder: Path) -> None:
    async def scene() -> None:
        supervisor, _ = supervised(folder)
        with pytest.raises(ChildFailed, match="cannot be started"):
            await supervisor.start(Child("one", (str(folder / "nothing"),)))
        await supervisor.stop()

    asyncio.run(scene())


def test_children_stop_in_reverse_each_before_the_next(folder: Path) -> None:
    code = f"""{SAY_READY}
def end(*_):
    with open(sys.argv[1], "a") as out:
        out.write(os.environ["WHO"] + " ")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
ready()
signal.pause()
"""

    async def scene() -> None:
        supervisor, _ = supervised(folder)
        for name in ("first", "second", "third"):
            await supervisor.start(python(name, code, folder / "order"))
        await supervisor.stop()

    asyncio.run(scene())
    assert (folder / "order").read_text() == "third second first "


STUBBORN = f"""{SAY_READY}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ready(pid=os.getpid())
while True:
    signal.pause()
"""


def test_a_child_that_ignores_sigterm_is_killed(folder: Path, ends: Callable[[int], bool]) -> None:
    async def scene() -> int:
        supervisor, ear = supervised(folder)
        said = await supervisor.start(python("one", STUBBORN, grace_s=0.2))
        await supervisor.stop()
        assert "killed" in ear.told[0][1]
        return int(str(said["pid"]))

    assert ends(asyncio.run(scene()))


def test_hurry_ends_a_stop_that_takes_long(folder: Path) -> None:
    async def scene() -> None:
        supervisor, _ = supervised(folder)
        await supervisor.start(python("one", STUBBORN, grace_s=600))
        stopping = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0)
        supervisor.hurry()
        async with asyncio.timeout(10):
            await stopping

    asyncio.run(scene())


def test_a_child_that_waits_to_be_restarted_can_be_stopped(folder: Path) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        code = f"{SAY_READY}\nready()\nsys.exit(1)"
        await supervisor.start(python("one", code))
        await ear.until("starts again in 0.4 s")
        await supervisor.stop()

    asyncio.run(scene())


def test_a_flood_without_a_line_end_is_passed_on_in_pieces(folder: Path) -> None:
    async def scene() -> None:
        supervisor, ear = supervised(folder)
        flood = f"{SAY_READY}\nsys.stdout.write('x' * 300_000)\nsys.stdout.flush()\n{SERVE}"
        await supervisor.start(python("one", flood))
        await ear.until("hello")
        await supervisor.stop()
        assert sum(line.count("x") for _, line in ear.wrote) == 300_000
        assert len(ear.wrote) > 1

    asyncio.run(scene())


SUPERVISE = f"""
import asyncio, sys
from pathlib import Path
from penstock.local.supervisor import Child, Supervisor
async def main():
    supervisor = Supervisor(Path(sys.argv[1]), lambda *_: None, lambda *_: None)
    said = await supervisor.start(Child("one", (sys.executable, "-c", {STUBBORN!r})))
    print(said["pid"], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def test_a_killed_supervisor_leaves_no_child(folder: Path, ends: Callable[[int], bool]) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert ends(child)
