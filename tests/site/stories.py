"""Each saga as a story: how it begins, what is true when it is done, and when it was undone."""

import itertools
from typing import Final

from site_stage import SiteStage, new_lease
from toy_kind import STEPS, bench

from penstock_contracts import wire_pb2 as wire

# Every step of every saga, and those that have an undo. A test compares them with the sagas.
DO: Final = (
    *(("realize", step) for step in ("provision", "announce")),
    *(("release", step) for step in ("stop", "clean")),
    *(("fill", step) for step in STEPS),
)
UNDO: Final = (("realize", "provision"), *(("fill", step) for step in STEPS))
FOR_EVER: Final = ("release",)  # it only goes forward
DONE: Final = {
    "realize": ["OBSERVED_ACTIVE"],
    "release": ["OBSERVED_STOPPING", "OBSERVED_RELEASED", "proofs"],
}
_numbers = itertools.count(1)


async def begin(stage: SiteStage, saga: str, key: str = "") -> str:
    if saga == "fill":
        key = key or f"jar-{next(_numbers)}"
        await stage.jar(key)
    else:
        key = key or new_lease()
        desired = wire.DESIRED_ACTIVE if saga == "realize" else wire.DESIRED_RELEASED
        await stage.lease(key, desired)
    return key


async def assert_done(stage: SiteStage, saga: str, key: str, *, twice: str = "") -> None:
    """All of it, and each told once, although a step of it may have run twice."""
    assert await stage.outcome(key) == ""
    if saga == "fill":
        done = list(dict.fromkeys(bench.done[key]))
        assert done == [f"{step} v1" for step in STEPS]
        assert len(bench.done[key]) <= len(STEPS) + (twice != "")
        assert [step for step, _ in await stage.steps(key)] == [f"fill.{step}" for step in STEPS]
    else:
        assert await stage.observed(key) == DONE[saga]
        assert stage.node.tasks_of(key) == ["provision" if saga == "realize" else "release"]
    await assert_told_once(stage, key)


async def assert_undone(stage: SiteStage, saga: str, step: str, key: str, reason: str) -> None:
    """In reverse, from that step on; then it was told."""
    assert await stage.outcome(key) == reason
    told = [one.stepped for one in await stage.told(key) if one.HasField("stepped")]
    assert [(one.status, one.detail) for one in told][-1] == (wire.STEP_STATUS_FAILED, reason)
    if saga == "fill":
        undone = [one for one in bench.done[key] if one.startswith("undo")]
        begun = STEPS[: STEPS.index(step) + 1]
        assert list(dict.fromkeys(undone)) == [f"undo {one} v1" for one in reversed(begun)]
    elif saga == "realize":
        assert stage.node.tasks_of(key)[-1] == "undo"
        assert (await stage.observed(key))[-1] == "OBSERVED_FAILED"
    else:
        assert (await stage.observed(key))[-1] == reason, "no proof, and why"
    await assert_told_once(stage, key)


async def assert_told_once(stage: SiteStage, key: str) -> None:
    told = [(one.stepped.step, one.stepped.status) for one in await stage.told(key)]
    steps = [one for one in told if one[0]]
    assert len(steps) == len(set(steps)), "a step is told once"
