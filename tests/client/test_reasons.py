"""Why something is changed: said on the command line, or by the SDK, for the audit log."""

from collections.abc import Iterator
from typing import Final

import pytest
from cyclopts import App

from penstock_client import completion
from penstock_client.api import Client
from penstock_client.main import NOUNS

from .stand_in import TOKEN, Api, Cli

READS: Final = {"ls", "show", "timeline", "receipt", "balance", "onboarding"}
ONLY_READ: Final = {
    "access", "audit", "availability", "context", "defragmentation", "events", "invariants",
    "platform", "usage",
}  # fmt: skip


def commands(app: App, *path: str) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in app:
        if name.startswith("-"):
            continue
        inner = app[name]
        if inner.default_command is not None:
            yield (*path, name), inner
        yield from commands(inner, *path, name)


CHANGING: Final = [
    (noun, *words)
    for noun in NOUNS
    if noun not in ONLY_READ
    for words, _ in commands(completion.load(noun))
    if words[-1] not in READS
]


def test_there_are_commands_that_change_something() -> None:
    assert len(CHANGING) > 40


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_every_command_that_changes_something_takes_a_reason(
    cli: Cli, words: tuple[str, ...]
) -> None:
    shown = cli(*words, "--help")
    assert "--reason" in shown.out


def test_a_reason_is_sent_with_a_change_and_shown_by_curl(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/users/user_1/disable", {"id": "user_1"})
    ran = cli("user", "disable", "user_1", "--reason", "left: 100 % sure, größer")
    assert ran.code == 0
    sent = here.calls[0].headers["x-reason"]
    assert sent == "left: 100 %25 sure, gr%C3%B6%C3%9Fer"
    shown = cli("user", "disable", "user_1", "--reason", "left", "--curl")
    assert "'X-Reason: left'" in shown.out


def test_the_sdk_says_why_with_every_change_and_with_no_read(here: Api) -> None:
    here.on("GET", "/v1/users/user_1", {"id": "user_1"})
    here.on("PATCH", "/v1/users/user_1", {"id": "user_1"})
    with Client(here.url, TOKEN, reason=" ticket 42 ") as client:
        client.users.get("user_1")
        client.users.change_role("user_1", "viewer")
    read, change = here.calls
    assert "x-reason" not in read.headers
    assert change.headers["x-reason"] == "ticket 42"
