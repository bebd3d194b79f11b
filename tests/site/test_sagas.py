"""Every saga fails, repeats and is killed at every step, in one process."""

import pytest
import stories
from site_stage import SiteStage

pytestmark = pytest.mark.anyio

MOMENTS = ("before", "after")
BOUNDED = [each for each in stories.DO if each[0] not in stories.FOR_EVER]


def point(saga: str, step: str, verb: str, moment: str) -> str:
    return f"site.{saga}.{step}.{verb}.{moment}"


def words(point: str) -> str:
    return f"failpoint {point} was hit"


async def test_the_stories_are_of_every_step_of_every_saga(stage: SiteStage) -> None:
    sagas = [saga for kind in stage.kinds.by_name.values() for saga in kind.sagas]
    assert {(saga.name, step.name) for saga in sagas for step in saga.steps} == set(stories.DO)
    assert {(saga.name, step.name) for saga in sagas for step in saga.steps if step.undo} == set(
        stories.UNDO
    )
    endless = {saga.name for saga in sagas for step in saga.steps if not step.retries.attempts_max}
    assert endless == set(stories.FOR_EVER)


@pytest.mark.parametrize("saga", ["realize", "release", "fill"])
async def test_what_goes_well_is_done_and_told_once(stage: SiteStage, saga: str) -> None:
    await stories.assert_done(stage, saga, await stories.begin(stage, saga))


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("saga", "step"), stories.DO)
async def test_a_failure_for_good_undoes_in_reverse(
    stage: SiteStage, saga: str, step: str, moment: str
) -> None:
    where = point(saga, step, "do", moment)
    stage.arm(where, "ruin")
    key = await stories.begin(stage, saga)
    await stories.assert_undone(stage, saga, step, key, words(where))


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("saga", "step"), stories.DO)
async def test_a_passing_failure_is_tried_again_and_nothing_is_undone(
    stage: SiteStage, saga: str, step: str, moment: str
) -> None:
    where = point(saga, step, "do", moment)
    stage.arm(where, "fail")
    key = await stories.begin(stage, saga)
    await stories.assert_done(stage, saga, key, twice=step)
    assert stage.hit(where)


@pytest.mark.parametrize(("saga", "step"), BOUNDED)
async def test_at_the_bound_a_passing_failure_is_for_good(
    stage: SiteStage, saga: str, step: str
) -> None:
    where = point(saga, step, "do", "before")
    stage.arm(where, "fail 4")
    key = await stories.begin(stage, saga)
    await stories.assert_undone(stage, saga, step, key, words(where))
    assert not (stage.failpoints / where).exists(), "it was tried as often as it may"


@pytest.mark.parametrize(("saga", "step"), [one for one in stories.DO if one not in BOUNDED])
async def test_what_only_goes_forward_is_tried_for_as_long_as_it_takes(
    stage: SiteStage, saga: str, step: str
) -> None:
    stage.arm(point(saga, step, "do", "before"), "fail 8")
    key = await stories.begin(stage, saga)
    await stories.assert_done(stage, saga, key)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("saga", "step"), stories.DO)
async def test_a_saga_goes_on_where_it_was_killed(
    stage: SiteStage, saga: str, step: str, moment: str
) -> None:
    """After its effect it runs again, to the same end."""
    where = point(saga, step, "do", moment)
    stage.arm(where, "die")
    key = await stories.begin(stage, saga)
    await stage.until_hit(where)
    await stage.restart()
    await stories.assert_done(stage, saga, key, twice=step)


@pytest.mark.parametrize("action", ["die", "fail 3"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("saga", "step"), stories.UNDO)
async def test_an_undo_that_fails_or_is_killed_is_done_in_the_end(
    stage: SiteStage, saga: str, step: str, moment: str, action: str
) -> None:
    failure, where = point(saga, step, "do", "after"), point(saga, step, "undo", moment)
    stage.arm(failure, "ruin")
    stage.arm(where, action)
    key = await stories.begin(stage, saga)
    await stage.until_hit(where)
    if action == "die":
        await stage.restart()
    await stories.assert_undone(stage, saga, step, key, words(failure))
