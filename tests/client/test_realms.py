"""What a realm has besides people, as commands: clients, other issuers, signing keys."""

import io
from pathlib import Path

import pytest

from .stand_in import Api, Cli

CLIENT: dict[str, object] = {
    "id": "client_1",
    "name": "app",
    "secret": "s-3",
    "grants": [],
    "disabled_at": None,
}
PROVIDER = {"id": "idp_1", "name": "corp", "issuer": "https://login.example"}
CORP = ("corp", "--issuer", "https://login.example", "--client-id", "penstock", "--tenant", "acme")


def test_a_clients_secret_is_alone_on_stdout(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/clients", CLIENT)
    ran = cli("client", "create", "app", "--redirect", "https://app.example/callback")
    assert (ran.code, ran.out) == (0, "s-3\n")
    assert here.calls[0].body == {
        "name": "app", "redirect_uris": ["https://app.example/callback"], "public": False,
    }  # fmt: skip


def test_a_client_that_acts_by_itself_says_how_and_as_what(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/clients", CLIENT)
    grants = ("--grant", "client_credentials", "device_code", "--scope", "read", "use")
    assert cli("client", "create", "app", *grants, "--role", "viewer", "--tenant", "acme").code == 0
    body = here.calls[0].body
    device = "urn:ietf:params:oauth:grant-type:device_code"
    assert (body["grants"], body["scopes"]) == (["client_credentials", device], ["read", "use"])
    assert (body["role"], body["tenant"]) == ("viewer", "acme")


def test_a_public_client_has_no_secret_to_show(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/clients", {**CLIENT, "secret": None})
    ran = cli("client", "create", "app", "--public")
    assert ran.code == 0
    assert "client_1" in ran.out
    assert here.calls[0].body["public"] is True


def test_clients_are_listed_shown_and_disabled(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/clients", {"items": [CLIENT], "next": None})
    here.on("GET", "/v1/clients/client_1", CLIENT)
    here.on("POST", "/v1/clients/client_1/disable", CLIENT)
    assert "client_1" in cli("client", "ls").out
    assert cli("client", "show", "client_1").code == 0
    assert cli("client", "disable", "client_1", "--reason", "leaked").code == 0
    assert here.calls[-1].headers["x-reason"] == "leaked"


def test_a_providers_secret_comes_from_a_file(here: Api, cli: Cli, tmp_path: Path) -> None:
    here.on("POST", "/v1/providers", PROVIDER)
    (tmp_path / "secret.txt").write_text("hush\n")
    ran = cli("provider", "create", *CORP, "--secret-file", str(tmp_path / "secret.txt"))
    assert ran.code == 0
    assert here.calls[0].body == {
        "name": "corp", "issuer": "https://login.example", "client_id": "penstock",
        "client_secret": "hush", "tenant": "acme",
    }  # fmt: skip
    assert "hush" not in ran.out + ran.err


@pytest.mark.parametrize("option", [(), ("--secret-file", "-")])
def test_a_providers_secret_comes_from_standard_input(
    here: Api, cli: Cli, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    here.on("POST", "/v1/providers", PROVIDER)
    monkeypatch.setattr("sys.stdin", io.StringIO("hush\n"))
    assert cli("provider", "create", *CORP, *option).code == 0
    assert here.calls[0].body["client_secret"] == "hush"


def test_a_providers_secret_is_no_argument_and_not_shown_by_curl(here: Api, cli: Cli) -> None:
    assert cli("provider", "create", *CORP, "--client-secret", "hush").code != 0
    shown = cli("provider", "create", *CORP, "--secret-file", "/nowhere", "--curl")
    assert (shown.code, "THE-SECRET" in shown.out) == (0, True)
    assert here.calls == []


@pytest.mark.parametrize("content", ["", " \n", "two\nlines", "gr\u00f6\u00dfer"])
def test_a_secret_that_is_none_is_refused_before_anything_is_sent(
    here: Api, cli: Cli, tmp_path: Path, content: str
) -> None:
    (tmp_path / "secret.txt").write_text(content)
    ran = cli("provider", "create", *CORP, "--secret-file", str(tmp_path / "secret.txt"))
    assert (ran.code, here.calls) == (2, [])
    missing = cli("provider", "create", *CORP, "--secret-file", str(tmp_path / "nowhere"))
    assert missing.code == 2


def test_providers_are_listed_and_disabled(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/providers", {"items": [PROVIDER], "next": None})
    here.on("POST", "/v1/providers/idp_1/disable", PROVIDER)
    assert "https://login.example" in cli("provider", "ls").out
    assert cli("provider", "disable", "idp_1").code == 0


def test_a_realms_key_is_rotated_and_the_old_one_distrusted(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/realm/rotate", {"issuer": "https://x/realms/acme", "kid": "k"})
    assert cli("realm", "rotate").code == 0
    assert cli("realm", "rotate", "--distrust", "--tenant", "acme").code == 0
    assert [call.body for call in here.calls] == [
        {"distrust": False}, {"distrust": True, "tenant": "acme"},
    ]  # fmt: skip
