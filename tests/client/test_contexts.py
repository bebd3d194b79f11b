"""Which API is talked to, and where tokens are kept."""

import fcntl
import io
import json
from pathlib import Path

import pytest

from penstock_client import contexts

from .stand_in import TOKEN, Api, Cli


def add(cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, api: str, *more: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{TOKEN}\n"))
    assert cli("context", "add", name, "--api", api, *more).code == 0


def test_the_file_is_for_its_owner_alone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    add(cli, monkeypatch, "prod", "https://a.example")
    add(cli, monkeypatch, "lab", "https://b.example")
    assert contexts.path().stat().st_mode & 0o777 == 0o600
    assert contexts.path().parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in contexts.path().parent.iterdir()] == ["contexts.json"]


def test_a_token_is_never_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    add(cli, monkeypatch, "prod", "https://a.example")
    for argv in (["ls"], ["ls", "--json"], ["show"], ["show", "prod", "--json"]):
        ran = cli("context", *argv)
        assert "https://a.example" in ran.out
        assert TOKEN not in ran.out + ran.err
    assert TOKEN not in repr(contexts.load())


def test_the_first_context_is_current_until_another_is_used(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(cli, monkeypatch, "prod", "https://a.example")
    add(cli, monkeypatch, "lab", "https://b.example")
    assert contexts.select(None).name == "prod"
    assert cli("context", "use", "lab").code == 0
    assert contexts.select(None).name == "lab"
    assert cli("context", "rm", "lab").code == 0
    assert contexts.load().current is None


def test_the_order_is_option_environment_current_ready(
    home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = {"api": "http://127.0.0.1:1", "admin_token": TOKEN, "project": "project_9"}
    (home / ".penstock").mkdir()
    (home / ".penstock" / "ready.json").write_text(json.dumps(ready))
    running = (home / ".penstock" / "lock").open("w")
    fcntl.flock(running, fcntl.LOCK_EX)
    found = contexts.select(None)
    assert (found.api, found.token, found.project) == ("http://127.0.0.1:1", TOKEN, "project_9")
    add(cli, monkeypatch, "prod", "https://a.example")
    assert contexts.select(None).api == "https://a.example"
    monkeypatch.setenv("PENSTOCK_API", "https://env.example/")
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    assert contexts.select(None).api == "https://env.example"
    assert contexts.select("prod").api == "https://a.example"
    running.close()


@pytest.mark.parametrize("content", ["", "garbage", "[]", '{"contexts": [7]}', '{"current": 7}'])
def test_a_damaged_file_of_contexts_is_named(cli: Cli, content: str) -> None:
    contexts.path().parent.mkdir(parents=True)
    contexts.path().write_text(content)
    ran = cli("context", "ls")
    assert ran.code == 2
    assert str(contexts.path()) in ran.err
    assert "put back a copy" in ran.err


def test_ls_and_use_say_when_the_environment_goes_first(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(cli, monkeypatch, "prod", "https://a.example")
    ran = cli("context", "ls", "--json")
    assert (json.loads(ran.out)["items"][0]["current"], ran.err) == (True, "")
    monkeypatch.setenv("PENSTOCK_API", "https://env.example")
    half = cli("context", "ls")
    assert "PENSTOCK_TOKEN is not, so commands refuse" in half.err
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    ran = cli("context", "ls", "--json")
    assert json.loads(ran.out)["items"][0]["current"] is False
    assert "commands use those: unset them, or say --context prod" in ran.err
    assert "commands use those" in cli("context", "use", "prod").err
    assert TOKEN not in ran.out + ran.err


def test_half_an_environment_is_a_usage_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_API", "https://env.example")
    ran = cli("tenant", "ls")
    assert ran.code == 2
    assert "PENSTOCK_TOKEN" in ran.err


def test_an_unknown_context_is_a_usage_error(cli: Cli) -> None:
    ran = cli("tenant", "ls", "--context", "nope")
    assert ran.code == 2
    assert "there is no context 'nope'" in ran.err


def test_a_broken_file_says_which(cli: Cli) -> None:
    contexts.path().parent.mkdir(parents=True)
    contexts.path().write_text("{")
    ran = cli("context", "ls")
    assert ran.code == 2
    assert str(contexts.path()) in ran.err


@pytest.mark.parametrize("api", ["ftp://x", "penstock.example"])
def test_an_address_that_is_none_is_a_usage_error(
    api: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    assert cli("context", "add", "x", "--api", api).code == 2


def test_the_contexts_project_is_where_allocations_are_made(
    api: Api, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(cli, monkeypatch, "here", api.url, "--project", "project_7")
    assert '"project": "project_7"' in cli("allocation", "create", "--sku", "x", "--curl").out


@pytest.mark.parametrize(
    ("api", "warned"),
    [("http://10.0.0.1", True), ("http://127.0.0.1:1", False), ("https://10.0.0.1", False)],
)
def test_a_token_sent_in_the_clear_is_warned_of(
    api: str, warned: bool, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    assert ("not https" in cli("context", "add", "x", "--api", api).err) == warned
