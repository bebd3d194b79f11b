"""What waits, for a node or in a pause, is superseded, cancelled, or handed to another version."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
import toy_kind
from site_stage import SOON_S, SiteStage, new_lease
from toy_kind import STEPS, bench

from penstock.kernel.db import Tx
from penstock.site import kinds
from penstock.site.documents import service
from penstock.site.documents.model import Standing
from penstock.site.leases import kind as leases
from penstock.site.sagas.kinds import Kinds, collect
from penstock.site.sagas.model import StepTransient
from penstock.site.tasks.service import Tasks
from penstock_contracts import wire_pb2 as wire

pytestmark = pytest.mark.anyio

MONTHS_S = 1e9  # nobody pauses that long: it is cut to an hour


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not reached():  # noqa: ASYNC110 a node's list tells nobody
            await asyncio.sleep(0.01)


def code(version: int, *older: int) -> Callable[[Tasks], Kinds]:
    """The kinds as another release of the toy has them."""
    return lambda tasks: collect((leases.kind(tasks), toy_kind.kind(tasks, version, older)))


async def stuck(stage: SiteStage, key: str, step: str = "fill") -> None:
    """A jar whose workflow waits in a step for what never comes."""
    bench.stuck.add((key, step))
    await stage.jar(key)
    await asyncio.wait_for(bench.reached[key, step].wait(), SOON_S)


async def paused(stage: SiteStage, key: str) -> None:
    """A jar whose workflow pauses for an hour."""
    bench.trouble[key, "fill"].append(StepTransient("no plums", MONTHS_S))
    await stage.jar(key)
    async with asyncio.timeout(SOON_S):
        while bench.trouble[key, "fill"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("waits", [stuck, paused])
async def test_a_newer_revision_takes_over_what_waits(
    stage: SiteStage, waits: Callable[[SiteStage, str], Awaitable[None]]
) -> None:
    key = f"jar-superseded-{waits.__name__}"
    await waits(stage, key)
    bench.stuck.clear()
    await stage.jar(key, revision=2)
    assert await stage.outcome(key) == Standing.SUPERSEDED
    assert await stage.outcome(key, revision=2) == ""
    assert not [one for one in bench.done[key] if one.startswith("undo")]


@pytest.mark.parametrize("waits", [stuck, paused])
async def test_an_operator_cancels_what_waits_and_it_is_undone(
    stage: SiteStage, waits: Callable[[SiteStage, str], Awaitable[None]]
) -> None:
    key = f"jar-cancelled-{waits.__name__}"
    await waits(stage, key)

    async def cancel(tx: Tx) -> None:
        await service.cancel(tx, "jar", key, 1, "the plums are bad")

    await stage.run(cancel)
    assert await stage.outcome(key) == "cancelled by an operator: the plums are bad"
    assert bench.done[key] == ["wash v1", "undo fill v1", "undo wash v1"]
    assert (await stage.steps(key))[-1] == ("fill.fail", "FAILED")


async def test_what_was_cancelled_while_nobody_listened_is_cancelled_at_the_start(
    stage: SiteStage,
) -> None:
    key = "jar-cancelled-meanwhile"
    await stuck(stage, key)
    await stage.stop()
    await stage.start(lambda _: Kinds())  # a process that knows nothing of jars, so runs none

    async def cancel(tx: Tx) -> None:
        await service.cancel(tx, "jar", key, 1, "meanwhile")

    await stage.run(cancel)
    await stage.restart()
    assert await stage.outcome(key) == "cancelled by an operator: meanwhile"
    assert bench.done[key] == ["wash v1", "undo fill v1", "undo wash v1"]


async def test_a_release_that_waits_for_its_node_can_be_cancelled(stage: SiteStage) -> None:
    """Central then has no proof, and the operator's reason."""
    id = new_lease()
    stage.node.silent.add(id)
    await stage.lease(id, wire.DESIRED_RELEASED)
    await until(lambda: bool(stage.node.tasks_of(id)))

    async def cancel(tx: Tx) -> None:
        await service.cancel(tx, "lease", id, 1, "the rack burned down")

    await stage.run(cancel)
    reason = "cancelled by an operator: the rack burned down"
    assert await stage.outcome(id) == reason
    assert await stage.observed(id) == ["OBSERVED_STOPPING", reason]


async def test_a_realization_that_waits_for_its_node_is_superseded_by_its_release(
    stage: SiteStage,
) -> None:
    id = new_lease()
    stage.node.silent.add(id)
    await stage.lease(id, wire.DESIRED_ACTIVE)
    await until(lambda: bool(stage.node.tasks_of(id)))
    stage.node.silent.clear()
    await stage.lease(id, wire.DESIRED_RELEASED, revision=2)
    assert await stage.outcome(id) == Standing.SUPERSEDED
    assert await stage.outcome(id, revision=2) == ""
    assert stage.node.tasks_of(id) == ["provision", "release"]


async def test_a_pause_ends_when_it_was_to_end_however_often_the_process_dies(
    stage: SiteStage,
) -> None:
    key, pause_s = "jar-patient", 3.0
    bench.trouble[key, "fill"].append(StepTransient("no plums", pause_s))
    began = time.time()
    await stage.jar(key)
    await until(lambda: not bench.trouble[key, "fill"])
    await stage.restart()
    await stage.restart()
    assert await stage.outcome(key) == ""
    assert time.time() - began >= pause_s
    assert bench.done[key] == [f"{step} v1" for step in STEPS], "what was done is not done again"


async def test_an_upgrade_resumes_a_workflow_with_the_steps_it_began_with(stage: SiteStage) -> None:
    key = "jar-resumed"
    await stuck(stage, key)
    bench.stuck.clear()
    await stage.restart(code(2, 1))
    assert await stage.outcome(key, version=1) == ""
    assert bench.done[key] == [f"{step} v1" for step in STEPS]
    await stage.jar("jar-new")
    assert await stage.outcome("jar-new", version=2) == ""
    assert bench.done["jar-new"] == [f"{step} v2" for step in (*STEPS, "label")]


async def test_a_newer_version_takes_over_a_stuck_one(stage: SiteStage) -> None:
    key = "jar-handed-over"
    await stage.restart(code(1))
    await stuck(stage, key)
    await stage.restart(code(2, 1))
    bench.reached[key, "fill"].clear()
    await asyncio.wait_for(bench.reached[key, "fill"].wait(), SOON_S)  # resumed, and stuck again
    bench.stuck.clear()

    async def hand_over(tx: Tx) -> None:
        await service.hand_over(tx, "jar", key, 1)

    await stage.run(hand_over)
    assert await stage.outcome(key, version=2) == ""
    assert await stage.outcome(key, version=1) == Standing.HANDED_OVER
    assert bench.done[key] == ["wash v1", *(f"{step} v2" for step in (*STEPS, "label"))]
    steps = [f"fill.{step}" for step in (*STEPS, "label")]
    assert [step for step, _ in await stage.steps(key)] == steps, "each is told once"


async def test_a_version_that_the_code_no_longer_has_is_handed_to_the_newest(
    stage: SiteStage,
) -> None:
    key = "jar-stranded"
    await stage.restart(code(1))
    await stuck(stage, key)
    bench.stuck.clear()
    await stage.restart(code(3))
    assert await stage.outcome(key, version=3) == ""
    assert await stage.outcome(key, version=1) == Standing.HANDED_OVER
    assert bench.done[key][-1] == "label v3"
    await stage.restart(kinds.load)


async def test_only_the_newest_revision_is_cancelled_or_handed_over(stage: SiteStage) -> None:
    await stage.jar("jar-old", revision=2)
    verbs: list[Callable[[Tx], Coroutine[Any, Any, None]]] = [
        lambda tx: service.cancel(tx, "jar", "jar-old", 1, "why"),
        lambda tx: service.hand_over(tx, "jar", "jar-old", 1),
        lambda tx: service.hand_over(tx, "jar", "jar-nowhere", 1),
    ]
    for verb in verbs:
        with pytest.raises(service.NotNewest, match="is not the newest one here"):
            await stage.run(verb)
