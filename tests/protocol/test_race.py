"""R01: a slot is never held twice: racing clients, replicas killed at random moments."""

from collections import Counter
from pathlib import Path

import asyncpg
import pytest
from logins import owner_url

from . import history, race
from .history import Claim, History, Operation
from .stage import Stage

pytestmark = pytest.mark.anyio


async def test_no_slot_is_held_twice_while_replicas_are_killed(
    central_url: str, tmp_path: Path
) -> None:
    result = await race.run(central_url, tmp_path, seconds=12, seed=1)
    assert result.problems == []
    assert result.kills >= 1
    assert result.broken > 0, "no request was under way when a replica died"
    assert len(result.history.placed) > 100, "hardly anything happened"
    used = Counter(claim.slot for claim in result.claims)
    assert max(used.values()) > 1, "no slot was used again"


DEAF = (
    "DROP INDEX claims_live",
    "ALTER TABLE claims DROP CONSTRAINT claims_pkey",
    "ALTER TABLE fleet_changes DROP CONSTRAINT fleet_changes_pkey",
    (
        "CREATE POLICY deaf ON fleet_changes AS RESTRICTIVE FOR SELECT TO penstock_central_system "
        "USING (kind <> 'claim')"
    ),
)


async def test_the_checker_sees_a_slot_that_is_held_twice(central_url: str, tmp_path: Path) -> None:
    """The planted bug: no unique index, and replicas that do not hear of each other's claims."""

    async def plant(_stage: Stage) -> None:
        owner = await asyncpg.connect(owner_url(central_url))
        for step in DEAF:  # one by one: replicas are reading
            await owner.execute(step)
        await owner.close()

    result = await race.run(central_url, tmp_path, seconds=3, seed=2, kill=False, plant=plant)
    told = " ".join(result.problems)
    assert "at the same time" in told, "clients held one slot together"
    assert " is of [" in told, "leases had one fence together"
    assert "invariant " in told


def held(allocation: str, start: float, end: float, slot: str = "s") -> Operation:
    return Operation(
        f"key of {allocation}", 1, allocation=allocation, slots=(slot,),
        held_from=start, held_until=end,
    )  # fmt: skip


ONE_TWO = [held("a", 0, 1), held("b", 1, 2)]
THREE = [held("a", 0, 9), held("b", 1, 2), held("c", 3, 4)]


@pytest.mark.parametrize(
    ("operations", "claims", "problem"),
    [
        ([held("a", 0, 2), held("b", 1, 3)], [("s", 1, "a"), ("s", 2, "b")], "a and b held it"),
        (THREE, [("s", 1, "a"), ("s", 2, "b"), ("s", 3, "c")], "a and c held it"),
        (ONE_TWO, [("s", 1, "a"), ("s", 1, "b")], "fence 1 is of ['a', 'b']"),
        (ONE_TWO, [("s", 1, "a"), ("s", 3, "a")], "a has the fences [1, 3]"),
        (ONE_TWO, [("s", 1, "b"), ("s", 2, "a")], "held before"),
        ([Operation("k", 1)], [], "unknown"),
        ([Operation("k", 1, refused="no")], [("s", 1, "a")], "no client knows"),
        ([held("a", 0, 1)], [], "it has not"),
        ([held("a", 0, 1), held("a", 0, 1)], [("s", 1, "a")], "another's lease"),
    ],
)
def test_the_checker_sees(
    operations: list[Operation], claims: list[tuple[str, int, str]], problem: str
) -> None:
    found = history.check(History(operations), [Claim(*claim) for claim in claims])
    assert any(problem in told for told in found), found


def test_the_checker_is_content_with_one_after_the_other() -> None:
    told = [
        held("a", 0, 1),
        held("b", 1, 2),
        held("c", 2, float("inf")),
        Operation("k", 1, refused="no"),
    ]
    claims = [Claim("s", 1, "a"), Claim("s", 2, "b"), Claim("s", 3, "c")]
    assert history.check(History(told), claims) == []
