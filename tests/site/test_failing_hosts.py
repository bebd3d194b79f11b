"""A host says by its fault whether to try again: only what is final undoes a lease."""

import pytest
import stories
from site_stage import SiteStage, new_lease

from penstock_contracts.drivers import fault_names, faults

pytestmark = pytest.mark.anyio

PASSING = sorted(name for name, fault in fault_names.BY_NAME.items() if fault not in faults.FINAL)
LASTING = sorted(set(fault_names.BY_NAME) - set(PASSING))


@pytest.mark.parametrize("fault", PASSING)
async def test_a_passing_fault_is_tried_again_as_another_task(stage: SiteStage, fault: str) -> None:
    id = new_lease()
    stage.node.faults[id] = [fault, fault]
    await stories.begin(stage, "realize", id)
    assert await stage.outcome(id) == ""
    assert stage.node.tasks_of(id) == ["provision"] * 3
    assert await stage.observed(id) == ["OBSERVED_ACTIVE"]
    await stories.assert_told_once(stage, id)


async def test_a_fault_that_does_not_pass_undoes_the_lease_at_the_bound(stage: SiteStage) -> None:
    id = new_lease()
    stage.node.faults[id] = ["transient"] * 9
    await stories.begin(stage, "realize", id)
    await stories.assert_undone(stage, "realize", "provision", id, "it is busy")
    assert stage.node.tasks_of(id) == ["provision"] * 4 + ["undo"]


@pytest.mark.parametrize("fault", LASTING)
async def test_a_final_fault_undoes_the_lease_at_once(stage: SiteStage, fault: str) -> None:
    id = new_lease()
    stage.node.faults[id] = [fault]
    await stories.begin(stage, "realize", id)
    await stories.assert_undone(stage, "realize", "provision", id, "it is busy")
    assert stage.node.tasks_of(id) == ["provision", "undo"]
