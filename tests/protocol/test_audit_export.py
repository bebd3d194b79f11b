"""The audit log's export by real processes, which are killed and frozen while they write it."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg
import httpx2
import pytest
from logins import superuser_url

from penstock.kernel.wakeups import Wakeups

from .replicas import Replica

pytestmark = pytest.mark.anyio

TOKEN: Final = "pk_platform_of_the_export"
POINTS: Final = ("central.audit.segment_written", "central.audit.checkpoint_written")
LEADER: Final = "penstock audit export"


@dataclass
class Scene:
    url: str
    folder: Path
    replicas: list[Replica]
    points: Path
    made: int = 0

    async def append(self, count: int, replica: Replica) -> None:
        """Changes that are audited; one that a killed process did not answer is made again."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(
            base_url=replica.address, headers=headers, timeout=20, trust_env=False
        ) as client:
            for _ in range(count):
                self.made += 1
                answer = await client.post("/v1/sites", json={"name": f"site-{self.made}"})
                assert answer.status_code == 201, answer.text

    async def exported(self) -> int:
        """Wait until everything is, and say how much that is."""
        sql = "SELECT h.seq FROM audit_head h JOIN audit_exports x ON x.seq = h.seq"
        wakeups = Wakeups(self.url)
        listening = asyncio.create_task(wakeups.listen())
        connection = await asyncpg.connect(superuser_url(self.url))
        try:
            async with asyncio.timeout(30):
                with wakeups.subscribe("audit.exported") as wakeup:
                    while True:
                        await wakeup.wait()
                        seq: int | None = await connection.fetchval(sql)
                        if seq is not None:
                            return seq
        finally:
            listening.cancel()
            await connection.close()

    def verify(self, replica: Replica) -> subprocess.CompletedProcess[str]:
        """As anyone would, from outside."""
        store = (self.folder / "audit").as_uri()
        words = ["audit", "verify", "--against", store, "--ca", str(self.folder / "ca.pem")]
        environment = {**os.environ, "PENSTOCK_API": replica.address, "PENSTOCK_TOKEN": TOKEN}
        return subprocess.run(
            [sys.executable, "-m", "penstock_client.main", *words],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    async def assert_whole(self, replica: Replica) -> None:
        seq = await self.exported()
        checked = await asyncio.to_thread(self.verify, replica)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert f"{seq} entries in the log, {seq} in the export" in checked.stderr
        assert "(signed): all as they were" in checked.stderr


@pytest.fixture
async def scene(central_url: str, tmp_path: Path) -> AsyncGenerator[Scene, None]:
    points = tmp_path / "points"
    points.mkdir()
    (tmp_path / "token").write_text(TOKEN)
    replicas = [Replica(f"central-{number}", central_url, tmp_path) for number in (1, 2)]
    for replica in replicas:
        replica.environment |= {
            "PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE": str(tmp_path / "token"),
            "PENSTOCK_FAILPOINTS": str(points),
        }
    try:
        await replicas[0].start()
        yield Scene(central_url, tmp_path, replicas, points)
    finally:
        for replica in replicas:
            await replica.kill()


async def dead(replica: Replica) -> None:
    assert replica.process is not None
    async with asyncio.timeout(20):
        await replica.process.wait()


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_between_a_segment_and_its_checkpoint_loses_and_doubles_nothing(
    scene: Scene, point: str
) -> None:
    (replica, _) = scene.replicas
    await scene.exported()
    (scene.points / point).write_text("kill")
    await scene.append(3, replica)
    await dead(replica)
    assert (scene.points / f"{point}.hit").exists()
    await replica.start()
    await scene.append(3, replica)
    await scene.assert_whole(replica)


async def test_kills_at_any_moment_lose_and_double_nothing(scene: Scene) -> None:
    (replica, _) = scene.replicas
    chance = random.Random(7)
    for _ in range(4):
        await scene.append(6, replica)
        await asyncio.sleep(chance.uniform(0.8, 1.3))  # around the moment at which it exports
        await replica.kill()
        await replica.start()
    await scene.append(1, replica)
    await scene.assert_whole(replica)


async def test_another_replica_takes_over_and_one_that_hung_spoils_nothing(scene: Scene) -> None:
    first, second = scene.replicas
    await scene.exported()
    await second.start()
    (scene.points / POINTS[0]).write_text("stop")
    await scene.append(2, second)  # `first` exports, and stops between segment and checkpoint
    while not (scene.points / f"{POINTS[0]}.hit").exists():
        await scene.append(1, second)
    owner = await asyncpg.connect(superuser_url(scene.url))
    await owner.execute(
        "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a "
        "JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'advisory' AND l.granted "
        "WHERE a.application_name = $1 AND a.datname = current_database()",
        LEADER,
    )
    await owner.close()
    await scene.append(2, second)
    await scene.assert_whole(second)
    assert first.process is not None
    first.process.send_signal(signal.SIGCONT)  # and writes the checkpoint that it meant to write
    await scene.append(2, second)
    await scene.assert_whole(second)
    await scene.append(2, first)
    await scene.assert_whole(first)


async def test_the_command_names_what_was_done_and_exits_with_1(scene: Scene) -> None:
    (replica, _) = scene.replicas
    await scene.append(2, replica)
    await scene.exported()
    owner = await asyncpg.connect(superuser_url(scene.url))
    await owner.execute("UPDATE audit_entries SET actor = 'mallory' WHERE seq = 2")
    await owner.close()
    checked = await asyncio.to_thread(scene.verify, replica)
    assert checked.returncode == 1
    assert "the log: entry 2 is not what its hash was made from" in checked.stdout
    assert "the log: entry 2 is not what was exported in segments/" in checked.stdout
