"""No token is ever shown, however badly it is written; and no traceback is shown for it."""

import fcntl
import json
import traceback
from pathlib import Path

import pytest

from penstock_client import contexts, errors
from penstock_client.api import Client
from penstock_client.secrets import Secret

from .stand_in import TOKEN, Answer, Api, Cli

PAGE: dict[str, object] = {"items": [], "next": None}


def told(text: str) -> bool:
    return "hidd" in text or "Traceback" in text or "Bearer" in text


@pytest.mark.parametrize("around", ["\r", "\r\n", "\n", " ", "\t"])
def test_what_surrounds_a_token_is_no_part_of_it(
    here: Api, cli: Cli, monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", f"{around}{TOKEN}{around}")
    here.on("GET", "/v1/tenants", PAGE)
    ran = cli("tenant", "ls", "--json")
    assert (ran.code, TOKEN in ran.err) == (0, False), ran.err
    assert here.calls[-1].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("token", ["pk_hidden\rx", "pk_hidden\n x: y", "pk_hidd\u00e9n", "\u2603"])
def test_a_token_that_is_none_is_a_usage_error_wherever_it_comes_from(
    here: Api, cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", token)
    in_environment, added = cli("tenant", "ls"), cli("context", "add", "x", "--api", here.url)
    for name in ("PENSTOCK_API", "PENSTOCK_TOKEN"):
        monkeypatch.delenv(name)
    (home / ".penstock").mkdir()
    ready = {"api": here.url, "admin_token": token}
    (home / ".penstock" / "ready.json").write_text(json.dumps(ready))
    with (home / ".penstock" / "lock").open("w") as running:
        fcntl.flock(running, fcntl.LOCK_EX)
        in_ready = cli("tenant", "ls")
    contexts.path().parent.mkdir(parents=True)
    stored = {"current": "x", "contexts": {"x": {"api": here.url, "token": token}}}
    contexts.path().write_text(json.dumps(stored))
    in_contexts = cli("tenant", "ls", "--json")
    for ran in (in_environment, added, in_ready, in_contexts):
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert not told(ran.err), ran.err
        assert len(ran.err.splitlines()) == 1
    assert here.calls == []


@pytest.mark.parametrize("token", ["pk_hidden\rx", "pk_hidd\u00e9n", ""])
def test_the_sdk_tells_no_token_either(api: Api, token: str) -> None:
    for given in (token, lambda: token):
        with Client(api.url, given) as client, pytest.raises(errors.Misused) as raised:
            client.tenants.list()
        assert not told("".join(traceback.format_exception_only(raised.value)))
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert api.calls == []


def test_what_fits_into_no_header_is_a_usage_error(here: Api, cli: Cli) -> None:
    for after in ("1\r\nX: y", "\u2603"):
        ran = cli("events", "--follow", "--after", after)
        assert (ran.code, ran.out) == (2, "")
        assert "does not fit into a header" in ran.err
    assert here.calls == []


def test_secrets_are_not_in_what_is_shown_for_debugging(
    here: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TOKEN not in repr(contexts.select(None))
    login = contexts.Login("https://issuer.example", Secret("pr_hidden"), 0.0)
    kept = contexts.Contexts(
        "x", {"x": contexts.Context("x", here.url, Secret(TOKEN), None, login)}
    )
    assert TOKEN not in repr(kept)
    assert "hidden" not in repr(kept)
    contexts.save(kept)
    assert contexts.load() == kept, "they are kept as they are"


def test_a_proxy_that_is_none_is_told_without_its_password(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_API", "https://penstock.example")
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    monkeypatch.setenv("HTTPS_PROXY", "gopher://me:hidden@proxy.example")
    ran = cli("tenant", "ls")
    assert ran.code == 2
    assert "PROXY" in ran.err
    assert not told(ran.err)


@pytest.mark.parametrize(
    "api",
    ["http://[", "http://", "https://a:b", "https://me:hidden@x.example", "http://\u00e9", "x"],
)
def test_an_address_that_is_none_is_a_usage_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    for argv in (("context", "add", "x", "--api", api), ("login", "--tenant", "t", "--api", api)):
        ran = cli(*argv)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert not told(ran.err)


def test_a_field_that_is_wrong_is_told_once(here: Api, cli: Cli) -> None:
    wrong = {"field": "email", "message": "an email address is wanted"}
    problem = {"title": "Invalid", "status": 422, "code": "invalid"}
    problem |= {"detail": "email: an email address is wanted"}
    here.on("POST", "/v1/users/invite", Answer(422, {**problem, "errors": [wrong]}))
    assert cli("user", "invite", "nonsense").err.count("an email address is wanted") == 1
