"""An operator sees the workflows of a site, cancels one, and hands one over, by its command."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from site_stage import SOON_S, SiteStage, new_lease
from toy_kind import bench

from penstock.site.sagas.model import StepTransient
from penstock_contracts import wire_pb2 as wire

pytestmark = pytest.mark.anyio


async def operate(stage: SiteStage, *argv: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        "PENSTOCK_SITE_DATABASE_URL": stage.url,
        "PENSTOCK_SITE_DATA": str(stage.failpoints),
    }
    command = [sys.executable, "-m", "penstock.site", "workflow", *argv]
    return await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, timeout=SOON_S
    )


async def test_an_operator_sees_what_runs_and_why_it_waits_and_cancels_it(
    stage: SiteStage,
) -> None:
    id = new_lease()
    stage.node.silent.add(id)
    await stage.lease(id, wire.DESIRED_RELEASED)
    bench.trouble["jar-waits", "fill"].append(StepTransient("no plums", 3600))
    await stage.jar("jar-waits")
    async with asyncio.timeout(SOON_S):
        while bench.trouble["jar-waits", "fill"] or not stage.node.tasks_of(id):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    listed = await operate(stage, "ls", "--json")
    assert listed.returncode == 0, listed.stderr
    found = {each["key"]: each for each in json.loads(listed.stdout)["items"]}
    lease, jar = found[id], found["jar-waits"]
    assert (lease["kind"], lease["workflow"], lease["version"]) == ("lease", "release", 1)
    assert (lease["step"], lease["attempts"]) == ("release.clean started", 0)
    assert (jar["step"], jar["attempts"], jar["reason"]) == ("fill.wash done", 1, "no plums")
    assert lease["since"] <= lease["step_since"]
    shown = await operate(stage, "ls")
    assert f"lease:{id}:1:release:1" in shown.stdout
    done = await operate(stage, "cancel", lease["id"], "--reason", "the rack burned down")
    assert done.returncode == 0, done.stderr
    assert await stage.outcome(id) == "cancelled by an operator: the rack burned down"
    handed = await operate(stage, "hand-over", jar["id"])
    assert handed.returncode == 0, handed.stderr
    again = await operate(stage, "cancel", f"lease:{id}:9:release:1", "--reason", "x")
    assert (again.returncode, again.stdout) == (1, "")
    assert "is not the newest one here" in again.stderr
    nonsense = await operate(stage, "cancel", "x", "--reason", "x")
    assert "'x' is no workflow" in nonsense.stderr
