"""Every operation × every role × (own place, another place, nobody).

The OpenAPI document is the list of operations; a row may not be missing.
"""

from collections.abc import AsyncGenerator

import pytest

from penstock.central import app
from penstock.local.postgres import EmbeddedPostgres

from . import roles_stage
from .plane import Api
from .roles_stage import OTHERS, ROLES, USERS, Stage
from .roles_table import ELSEWHERE, TABLE, UNLISTED, Row

pytestmark = pytest.mark.anyio
Calls = list[tuple[str, Api, int]]


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage, None]:
    folder = tmp_path_factory.mktemp("roles")
    async with roles_stage.set_up(server, templates["central"], folder) as started:
        yield started


def operations() -> set[str]:
    """Every operation of the API, its path parameters reduced to `{}`."""
    paths: dict[str, dict[str, object]] = app.create().openapi()["paths"]
    return {_bare(f"{verb.upper()} {path}") for path, verbs in paths.items() for verb in verbs}


def _bare(operation: str) -> str:
    parts = ("{}" if part.startswith("{") else part for part in operation.split("/"))
    return "/".join(parts)


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert operations() == {_bare(operation) for operation in TABLE}


@pytest.mark.parametrize("operation", [*TABLE, *UNLISTED])
async def test_each_role_is_answered_what_the_table_says(stage: Stage, operation: str) -> None:
    await ask_all(stage, operation, {**TABLE, **UNLISTED}[operation])


@pytest.mark.parametrize(("operation", "row"), ELSEWHERE)
async def test_each_role_is_answered_by_what_it_asks_for(
    stage: Stage, operation: str, row: Row
) -> None:
    await ask_all(stage, operation, row)


async def ask_all(stage: Stage, operation: str, row: Row) -> None:
    """Those who may, first, so that it is known to work; then those who may not: and nothing
    at all has changed by them."""
    await roles_stage.sign_in(stage)
    calls = _calls(stage, row)
    wrong = [await _ask(stage, operation, row, call) for call in calls if call[2] < 400]
    refused = [call for call in calls if call[2] >= 400]
    if row.goes_on:
        await _ended(stage)
    if row.renew:
        await roles_stage.renew(stage)
    before = await stage.census()
    wrong += [await _ask(stage, operation, row, call, renew=False) for call in refused]
    assert [each for each in wrong if each] == []
    after = await stage.census()
    assert [name for name in after if after[name] != before[name]] == [], "who was refused did it"


def _calls(stage: Stage, row: Row) -> Calls:
    own, other = row.own.split(), row.other.split()
    said: dict[str, dict[str, str]] = {
        "own": dict(zip(ROLES, own, strict=True)),
        "other": dict(zip(OTHERS, other, strict=True)),
    }
    people = row.users.split() or [said[place][role] for place, role in USERS]
    return [
        *(
            (f"{place} signed-in {role}", stage.users[place, role], int(status))
            for (place, role), status in zip(USERS, people, strict=True)
        ),
        *((f"own {r}", stage.own[r], int(s)) for r, s in zip(ROLES, own, strict=True)),
        *((f"other {r}", stage.others[r], int(s)) for r, s in zip(OTHERS, other, strict=True)),
        ("nobody", stage.central.caller(None), 401),
    ]


async def _ended(stage: Stage) -> None:
    """What was begun has come to its end."""
    begun: str = await stage.central.value("SELECT max(id) FROM onboardings")
    assert await stage.central.until(begun, "onboarding.done", "onboarding.undone") == (
        "onboarding.done"
    )


async def _ask(
    stage: Stage, operation: str, row: Row, call: tuple[str, Api, int], *, renew: bool = True
) -> str:
    """What is wrong with the answer."""
    caller, api, expected = call
    if renew and row.renew:
        await roles_stage.renew(stage)
    status = await stage.ask(api, operation, row.query, row.body, caller)
    return "" if status == expected else f"{caller}: {status}, not {expected}"
