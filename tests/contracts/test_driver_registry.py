"""Drivers are found by entry points; one that cannot be used is named and stops no other."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_contracts.drivers import registry
from penstock_contracts.drivers.registry import Broken, Installed, Kind, NoDriver

from . import packages

KIND: Final = Kind[object]("gadget", "Something for these tests.", {"blinking": object})
GOOD: Final = """
from contextlib import asynccontextmanager
from dataclasses import dataclass
from penstock_contracts.drivers.registry import Driver, Kind

KIND = Kind("gadget", "Something for these tests.", {"blinking": object})

@dataclass(frozen=True)
class Config:
    size: int = 1

@asynccontextmanager
async def open(config):
    yield config

DRIVER = Driver(KIND, "NAME", "Is a gadget.", Config, open, frozenset({"blinking"}))
"""


@dataclass(frozen=True)
class Here:
    """A folder on the path that packages are put into."""

    site: Path

    def put(self, name: str, source: str, value: str = "DRIVER", kind: str = "gadget") -> None:
        module = f"toy_{name}"
        declared = f"[penstock.drivers.{kind}]\n{name} = {module}:{value}\n"
        packages.install(self.site, f"toy-{name}", "1.2.3", declared, {module: source})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in [each for each in sys.modules if each.startswith("toy_")]:
        monkeypatch.delitem(sys.modules, name)
    return Here(tmp_path)


def gadgets() -> dict[str, Installed[Any] | Broken]:
    return {each.origin.name: each for each in registry.installed() if each.origin.kind == "gadget"}


def reason(name: str) -> str:
    found = gadgets()[name]
    assert isinstance(found, Broken)
    return found.reason


def test_a_driver_is_found_with_its_version_and_its_abilities(here: Here) -> None:
    here.put("one", GOOD.replace("NAME", "one"))
    found = gadgets()["one"]
    assert isinstance(found, Installed)
    assert (found.origin.package, found.origin.version) == ("toy-one", "1.2.3")
    assert found.driver.abilities == {"blinking"}
    assert registry.find(KIND, "one") is found.driver
    assert "gadget" in registry.kinds()


@pytest.mark.parametrize(
    ("source", "value", "why"),
    [
        ("import nowhere_at_all", "DRIVER", "No module named 'nowhere_at_all'"),
        ("raise SystemExit(3)", "DRIVER", "cannot be imported (SystemExit: 3)"),
        ("def", "DRIVER", "SyntaxError"),
        ("", "DRIVER", "cannot be imported (AttributeError"),
        ("DRIVER = object()", "DRIVER", "toy_bad:DRIVER is not a Driver"),
        (GOOD.replace("NAME", "other"), "DRIVER", "it calls itself other"),
        (
            GOOD.replace("NAME", "bad").replace('Kind("gadget"', 'Kind("gizmo"'),
            "DRIVER",
            "a driver of kind gizmo, declared in the group penstock.drivers.gadget",
        ),
        (
            GOOD.replace("NAME", "bad").replace('t({"blinking"})', 't({"flying"})'),
            "DRIVER",
            "abilities that kind gadget does not have: ['flying']",
        ),
        (
            GOOD.replace("NAME", "bad").replace("size: int = 1", "size: complex = 1j"),
            "DRIVER",
            "a field of type <class 'complex'>",
        ),
        (GOOD.replace("NAME", "bad").replace("@dataclass(frozen=True)", ""), "DRIVER", "dataclass"),
    ],
)
def test_a_driver_that_cannot_be_used_is_named_and_others_are_found(
    here: Here, source: str, value: str, why: str
) -> None:
    here.put("bad", source, value)
    here.put("one", GOOD.replace("NAME", "one"))
    assert why in reason("bad")
    assert isinstance(gadgets()["one"], Installed)
    with pytest.raises(NoDriver, match=r"driver gadget\.bad cannot be used: "):
        registry.find(KIND, "bad")


def test_of_two_with_one_name_neither_is_used(here: Here) -> None:
    here.put("one", GOOD.replace("NAME", "one"))
    source = {"toy_again": GOOD.replace("NAME", "one")}
    declared = "[penstock.drivers.gadget]\none = toy_again:DRIVER\ntwo = toy_again:DRIVER\n"
    packages.install(here.site, "toy-again", "9", declared, source)
    both = [each for each in registry.installed() if each.origin.name == "one"]
    assert [each.origin.package for each in both] == ["toy-again", "toy-one"]
    assert all(isinstance(each, Broken) for each in both)
    assert "(toy-again, toy-one): remove all but one" in reason("one")
    with pytest.raises(NoDriver, match="more than one package declares it"):
        registry.find(KIND, "one")


def test_one_that_is_not_there_is_told_beside_those_that_are(here: Here) -> None:
    here.put("one", GOOD.replace("NAME", "one"))
    with pytest.raises(NoDriver, match=r"no driver gadget\.two here; installed are: one"):
        registry.find(KIND, "two")


def test_finding_one_imports_no_other(here: Here) -> None:
    here.put("one", GOOD.replace("NAME", "one"))
    here.put("two", "raise RuntimeError")
    registry.find(KIND, "one")
    assert "toy_one" in sys.modules
    assert "toy_two" not in sys.modules
