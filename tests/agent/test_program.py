"""The program itself, over a real link: killed at every point, stopped, misused."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import structlog

from penstock_agent import executor, journal, main
from penstock_contracts.failpoints import DECLARED
from penstock_contracts.ids import SlotId
from penstock_contracts.wire_pb2 import (
    Ack,
    Entry,
    Frame,
    Hello,
    SlotBinding,
    Task,
    TaskResult,
    TaskStatus,
)

from .small_site import Feed, SmallSite, small_site
from .stage import Pen, allocation

PROGRAM = [sys.executable, "-m", "penstock_agent.main"]
FAILPOINTS = [
    journal.RECEIVED.name,
    executor.BEFORE_EFFECT.name,
    executor.AFTER_EFFECT.name,
    executor.JOURNALED.name,
]


class Agent:
    """The program on one data folder, started as often as needed."""

    def __init__(self, folder: Path, site: SmallSite, nodes: int = 1) -> None:
        self.folder = folder
        self.arguments = ["--data", str(folder), "--simulate", "h100-8", "--nodes", str(nodes)]
        self.environment = dict(os.environ)
        tokens = folder / "tokens"
        tokens.write_text("".join(f"{site.token()}\n" for _ in range(nodes)))
        self.arguments += ["--token-file", str(tokens)]

    @asynccontextmanager
    async def running(self, *more: str, wait: bool = True) -> AsyncGenerator[Process]:
        """The process, once it said that it is ready (unless told not to wait for that)."""
        ready, tell = os.pipe()
        environment = {**self.environment, "PENSTOCK_READY_FD": str(tell)}
        with (self.folder / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *PROGRAM, *self.arguments, *more, env=environment, pass_fds=[tell], stderr=log
            )
        os.close(tell)
        try:
            with os.fdopen(ready) as pipe:
                if wait:
                    assert "nodes" in json.loads(await asyncio.to_thread(pipe.readline))
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def dirty(self) -> int:
        with closing(sqlite3.connect(self.folder / "world.db")) as world:
            return world.execute("SELECT count(*) FROM devices").fetchone()[0]


async def first_slot(feed: Feed, pen: Pen) -> SlotBinding:
    task = pen.discover()
    feed.order(pen.sign(task))
    proposed = (await feed.result(task)).topology.slots[0]
    steps = ["runtime.destroyed", "gpu.reset"]
    return SlotBinding(
        slot_id=SlotId.new(),
        fence=1,
        gpu_uuid=proposed.gpu_uuid,
        cleanup_nonce=b"nonce",
        cleanup_steps=steps,
    )


def pen_of(site: SmallSite) -> tuple[Feed, Pen]:
    (feed,) = site.feeds.values()
    return feed, Pen(node_id=feed.node_id, site_key=site.task_key)


async def ordered(feed: Feed, pen: Pen, task: Task) -> TaskResult:
    feed.order(pen.sign(task))
    return await feed.result(task)


async def failing(agent: Agent) -> tuple[int | None, str]:
    """Run a process that must end by itself; what it returned and what it said."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, *agent.arguments, stderr=subprocess.PIPE
    )
    _, shown = await asyncio.wait_for(process.communicate(), 10)
    return process.returncode, shown.decode()


def test_every_failpoint_of_the_agent_is_killed_at_here() -> None:
    assert {name for name in DECLARED if name.startswith("agent.")} == set(FAILPOINTS)


@pytest.mark.parametrize("point", FAILPOINTS)
def test_a_lease_survives_the_agents_death(tmp_path: Path, point: str) -> None:
    async def run() -> None:
        async with small_site() as site:
            agent = Agent(tmp_path, site)
            async with agent.running() as process:
                feed, pen = pen_of(site)
                slot = await first_slot(feed, pen)
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
            (tmp_path / point).write_text("kill")
            agent.environment["PENSTOCK_FAILPOINTS"] = str(tmp_path)
            lease = allocation()
            provision = pen.provision(lease, slot)
            async with agent.running() as process:
                feed.order(pen.sign(provision))
                assert await process.wait() == -signal.SIGKILL
            async with agent.running():
                assert (await feed.result(provision)).status == TaskStatus.TASK_STATUS_DONE
                assert agent.dirty() == 1
                released = await ordered(feed, pen, pen.release(lease, slot))
                assert released.status == TaskStatus.TASK_STATUS_DONE
                assert agent.dirty() == 0
            # Each task was answered, and none differently the second time.
            answers = {result.task_id: result for result in feed.results}
            assert all(answers[result.task_id] == result for result in feed.results)
            assert len(answers) == 3

    asyncio.run(run())


def test_a_host_that_dies_after_an_effect_does_so_once(tmp_path: Path) -> None:
    async def run() -> None:
        faults = tmp_path / "faults.json"
        entry = {"task": "vm_provision", "fault": "die_after", "node": "node-0001"}
        faults.write_text(json.dumps({"faults": [entry]}))
        async with small_site() as site:
            agent = Agent(tmp_path, site)
            async with agent.running("--faults", str(faults)) as process:
                feed, pen = pen_of(site)
                provision = pen.provision(allocation(), await first_slot(feed, pen))
                feed.order(pen.sign(provision))
                assert await process.wait() == -signal.SIGKILL
                assert agent.dirty() == 1
            async with agent.running("--faults", str(faults)):
                assert (await feed.result(provision)).status == TaskStatus.TASK_STATUS_DONE

    asyncio.run(run())


def test_many_nodes_share_a_process_stop_cleanly_and_come_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with small_site() as site:
            agent = Agent(tmp_path, site, nodes=20)
            async with agent.running("--delay-ms", "5") as process:
                found = [await first_uuid(site, feed) for feed in site.feeds.values()]
                assert len(set(found)) == 20
                returncode, shown = await failing(agent)
                assert (returncode, "another agent" in shown) == (2, True)
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
                assert time.monotonic() - began < 2
            async with agent.running():
                assert len(site.feeds) == 20  # none joined again
            seen = (tmp_path / "log").read_text()
            assert "PRIVATE KEY" not in seen
            assert "penstock-join-" not in seen

    async def first_uuid(site: SmallSite, feed: Feed) -> str:
        pen = Pen(node_id=feed.node_id, site_key=site.task_key)
        return (await first_slot(feed, pen)).gpu_uuid

    asyncio.run(run())


def test_a_broken_node_does_not_take_the_others_down(tmp_path: Path) -> None:
    async def run() -> None:
        async with small_site() as site:
            agent = Agent(tmp_path, site, nodes=2)
            async with agent.running():
                pass
            broken = tmp_path / "nodes" / "node-0001" / "membership.json"
            whole = json.loads((broken.parent.parent / "node-0002/membership.json").read_text())
            broken.write_text("{}")
            async with agent.running(wait=False) as process:
                feed = site.feeds[whole["id"]]
                await first_slot(feed, Pen(node_id=feed.node_id, site_key=site.task_key))
                assert process.returncode is None

    asyncio.run(run())


def test_a_refused_join_says_so_and_exits_with_2(tmp_path: Path) -> None:
    async def run() -> None:
        async with small_site() as site:
            site.joining = False
            agent = Agent(tmp_path, site)
            returncode, shown = await failing(agent)
            last = shown.splitlines()[-1]
            assert last == "penstock-agent: node-0001 cannot join: the token was used before"
            assert returncode == 2

    asyncio.run(run())


def test_faults_are_read_again_on_a_hangup_and_bad_ones_ignored(tmp_path: Path) -> None:
    faults = tmp_path / "faults.json"
    entry = {"task": "vm_provision", "fault": "fail", "reason": "out of luck", "times": 2}

    async def run() -> None:
        faults.write_text('{"faults": []}')
        async with small_site() as site:
            agent = Agent(tmp_path, site)
            async with agent.running("--faults", str(faults)) as process:
                feed, pen = pen_of(site)
                slot = await first_slot(feed, pen)
                for content in (json.dumps({"faults": [entry]}), "nonsense"):
                    faults.write_text(content)
                    process.send_signal(signal.SIGHUP)
                    await first_slot(feed, pen)  # a round trip, so that the signal was handled
                    result = await ordered(feed, pen, pen.provision(allocation(), slot))
                    assert result.reason == "out of luck"
                    slot.fence += 1

    asyncio.run(run())


@pytest.fixture
def own_logs(monkeypatch: pytest.MonkeyPatch) -> Generator[None, None, None]:
    """The program sets up its logs; what this process had is put back."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    had = structlog.get_config()
    yield
    structlog.configure(**had)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--simulate", "h100-8"], "--data"),
        (["--data", "."], "no host driver is chosen"),
        (["--check", "--simulate", "h900"], "no hardware profile 'h900'"),
        (
            ["--check", "--simulate", "h100-8", "--faults", "/none.json"],
            "/none.json cannot",
        ),
        (["--check", "--drivers", "none.toml"], "none.toml: cannot be read"),
        (["--check", "--drivers", "two.toml"], "two.toml: host: one driver looks after a machine"),
        (["--check", "--drivers", "typo.toml"], "typo.toml: host.simulated.delay: there is no"),
        (["--check", "--drivers", "wrong.toml"], "no hardware profile 'h900'"),
        (["--data", ".", "--simulate", "h100-8", "--nodes", "0"], "from 1 to"),
        (["--data", ".", "--simulate", "h100-8", "--nodes", "x"], "whole number"),
        (["--data", ".", "--simulate", "h100-8", "--name-prefix", "../x"], "--name-prefix"),
        (["--data", ".", "--simulate", "h100-8"], "has no token"),
        (["--data", ".", "--simulate", "h100-8", "--token-file", "bad"], "line 1"),
    ],
)
@pytest.mark.usefixtures("own_logs")
def test_misuse_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (tmp_path / "bad").write_text("penstock-join-nonsense\n")
    good = '{ driver = "simulated", profile = "h100-8", data = "." }'
    (tmp_path / "two.toml").write_text(f"[host]\na = {good}\nb = {good}\n")
    (tmp_path / "typo.toml").write_text('[host.simulated]\nprofile = "h100-8"\ndelay = 1\n')
    (tmp_path / "wrong.toml").write_text('[host.simulated]\nprofile = "h900"\ndata = "."\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["penstock-agent", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert message in said.err


def test_check_prints_the_profile_as_one_line() -> None:
    done = subprocess.run(
        [*PROGRAM, "--simulate", "l40s-4", "--check"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"name": "l40s-4", "gpu_family": "l40s", "gpus": 4}


def test_a_driver_can_be_chosen_by_a_file(tmp_path: Path) -> None:
    chosen = tmp_path / "drivers.toml"
    chosen.write_text('[host.here]\ndriver = "simulated"\nprofile = "l40s-4"\ndata = "."\n')
    done = subprocess.run(
        [*PROGRAM, "--drivers", str(chosen), "--check"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"driver": "simulated"}


FORGED = {
    "a hello of 2^64-1": [Frame(hello=Hello(cursor=(1 << 64) - 1))],
    "an ack of 2^64-1": [Frame(hello=Hello()), Frame(ack=Ack(seq=(1 << 64) - 1))],
    "an ack of what was never sent": [Frame(hello=Hello()), Frame(ack=Ack(seq=1 << 40))],
    "an entry of 2^63-1": [Frame(hello=Hello()), Frame(entry=Entry(seq=(1 << 63) - 1))],
    "an entry of 2^64-1": [Frame(hello=Hello()), Frame(entry=Entry(seq=(1 << 64) - 1))],
}


def test_a_site_that_sends_what_could_not_be_moves_nothing_at_the_node(tmp_path: Path) -> None:
    async def run() -> None:
        async with small_site() as site:
            agent = Agent(tmp_path, site)
            site.forged = list(FORGED.values())
            async with agent.running():
                async with asyncio.timeout(30):
                    while len(site.objections) < len(FORGED):
                        await site.objected.wait()
                        site.objected.clear()
                feed, pen = pen_of(site)
                task = pen.discover()
                result = await ordered(feed, pen, task)
                assert result.status == TaskStatus.TASK_STATUS_DONE
            assert all("asyncpg" not in said and said for said in site.objections)
            with closing(sqlite3.connect(tmp_path / "journal.db")) as kept:
                (row,) = kept.execute("SELECT received, sent FROM feeds").fetchall()
            assert row == (1, 1), "as if nobody had sent anything else"

    asyncio.run(run())
