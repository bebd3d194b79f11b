"""R18: no answer tells whether another tenant's thing exists. Every operation that takes an id."""

import re
import string
from typing import Final

import pytest

from penstock_contracts import ids

from . import roles_stage
from .plane import Answer, Api, Json
from .roles_stage import Stage
from .roles_table import ELSEWHERE, TABLE, Row
from .test_roles import operations, stage

__all__ = ["stage"]  # the fixture: a tenant with one of everything, and a stranger
pytestmark = pytest.mark.anyio

PUBLIC: Final = {"GET /v1/skus/{sku}"}  # the catalog is everyone's
MADE_BY_NAME: Final = {"PUT /v1/templates/{template}"}  # forbidden to them, there or not
STREAMS: Final = {"GET /v1/events"}  # without an end; what is another's never comes along
# Ids of nothing, each exactly as long as one of something.
ABSENT: Final = {
    "tenant": ids.TenantId.new(), "project": ids.ProjectId.new(), "site": ids.SiteId.new(),
    "node": ids.NodeId.new(), "slot": ids.SlotId.new(), "allocation": ids.AllocationId.new(),
    "organization": ids.OrganizationId.new(), "user": ids.UserId.new(),
    "client": ids.ClientId.new(), "provider": ids.ProviderId.new(), "key": ids.KeyId.new(),
    "session": ids.SessionId.new(), "group": ids.GroupId.new(), "team": ids.GroupId.new(),
    "account": ids.ServiceAccountId.new(), "fresh": ids.ServiceAccountId.new(),
    "binding": ids.BindingId.new(), "gone": ids.TenantId.new(),
    "onboarding": ids.OnboardingId.new(), "dispute": ids.DisputeId.new(),
    "spare": ids.NodeId.new(), "reenrolment": ids.ReenrolmentId.new(),
    "template": "smart", "pool": "plans",
}  # fmt: skip
# They say when, and how often one may still ask.
CHANGING: Final = {"date", "ratelimit-remaining", "ratelimit-reset"}


def named(operation: str, row: Row) -> set[str]:
    """The things that a request names by their ids."""
    texts = [operation, row.query, *(v for v in (row.body or {}).values() if isinstance(v, str))]
    fields = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
    return fields - {"caller"}


ROWS: Final = [
    (operation, row)
    for operation, row in [*TABLE.items(), *ELSEWHERE]
    if named(operation, row) and operation not in PUBLIC | STREAMS
]


def test_every_operation_with_an_id_in_its_path_has_a_row() -> None:
    wanted = {operation for operation in operations() if "{}" in operation}
    had = {re.sub(r"\{\w+\}", "{}", operation) for operation, _ in ROWS}
    assert wanted - had == {re.sub(r"\{\w+\}", "{}", operation) for operation in PUBLIC}
    unknown = {name for operation, row in ROWS for name in named(operation, row)} - ABSENT.keys()
    assert not unknown, f"ABSENT has no id for {unknown}"


@pytest.mark.parametrize(("operation", "row"), ROWS, ids=lambda value: str(value)[:60])
async def test_what_is_not_yours_is_answered_as_what_does_not_exist(
    stage: Stage, operation: str, row: Row
) -> None:
    if row.renew:
        await roles_stage.renew(stage)
    names = named(operation, row)
    absent = {name: str(ABSENT[name]) for name in names}
    theirs = {name: stage.ids[name] for name in names}
    for api in stage.others.values():
        there = await ask(api, operation, row, theirs)
        nothing = await ask(api, operation, row, absent)
        expected = there.raw
        for name in names:
            assert len(theirs[name]) == len(absent[name])
            expected = expected.replace(theirs[name].encode(), absent[name].encode())
        assert there.status == nothing.status
        assert there.status in (403, 404), there.raw
        hidden = there.status == 404 or "{" not in operation or operation in MADE_BY_NAME
        assert hidden, "a path tells that it leads somewhere"
        assert expected == nothing.raw
        assert fixed(there) == fixed(nothing)


async def ask(api: Api, operation: str, row: Row, things: dict[str, str]) -> Answer:
    method, _, path = operation.partition(" ")
    body: Json = {
        name: value.format(caller="x", **things) if isinstance(value, str) else value
        for name, value in (row.body or {}).items()
    }
    where = (path + row.query).format(**things)
    headers = {"X-Correlation-Id": "the-same"}
    return await api.send(method, where, json=body or None, headers=headers)


def fixed(answer: Answer) -> list[tuple[str, str]]:
    """The headers, in their order, without those that change by themselves."""
    return [pair for pair in answer.headers.items() if pair[0] not in CHANGING]
