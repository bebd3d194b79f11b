"""`penstock driver ls`: what is installed in this environment, usable or not."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest
from contracts import packages

from .stand_in import Cli

DECLARED: Final = "[penstock.drivers.realm]\nlost = lost_driver:DRIVER\n"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    packages.install(tmp_path / "site", "lost-driver", "0.7", DECLARED, {})


def test_drivers_are_listed_without_a_server(cli: Cli) -> None:
    ran = cli("driver", "ls")
    assert (ran.code, ran.err) == (0, "")
    [keycloak] = [line for line in ran.out.splitlines() if " keycloak " in line]
    assert keycloak.split()[:4] == ["realm", "keycloak", "0.1.0", "penstock-control"]
    assert "Hosts realms at a Keycloak server." in keycloak


@pytest.mark.usefixtures("broken")
def test_one_that_is_broken_is_listed_with_the_reason(cli: Cli) -> None:
    ran = cli("driver", "ls")
    assert ran.code == 0
    [lost] = [line for line in ran.out.splitlines() if " lost " in line]
    assert "cannot be used: lost_driver:DRIVER cannot be imported" in lost
    assert "No module named 'lost_driver'" in lost
    assert " keycloak " in ran.out


@pytest.mark.usefixtures("broken")
def test_json_has_all_that_is_known(cli: Cli) -> None:
    items = {each["name"]: each for each in json.loads(cli("driver", "ls", "--json").out)["items"]}
    assert items["lost"]["version"] == "0.7"
    assert "No module named" in items["lost"]["broken"]
    keycloak = items["keycloak"]
    assert (keycloak["kind"], keycloak["abilities"], keycloak["broken"]) == ("realm", [], None)
    fields = {each["name"]: each["required"] for each in keycloak["fields"]}
    assert fields == {"url": True, "secret": True, "client_id": False, "timeout_s": False}


def test_without_the_contracts_it_says_what_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.startswith("penstock_contracts")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "penstock_contracts", None)
    ran = cli("driver", "ls")
    assert ran.code == 2
    assert "penstock-contracts, which is not installed here" in ran.err
