"""The operator's file of drivers: tables by kind and name, refused with the file and the field."""

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_contracts.drivers import chosen
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.faults import DriverBug
from penstock_contracts.drivers.registry import Kind

from . import packages

pytestmark = pytest.mark.anyio
KIND: Final = Kind[Any]("gadget", "Something for these tests.")
MODULE: Final = """
from contextlib import asynccontextmanager
from dataclasses import dataclass
from penstock_contracts.drivers.registry import Driver, Kind

OPEN = []

@dataclass(frozen=True)
class Config:
    size: int = 1

@asynccontextmanager
async def open(config):
    if config.size == 13:
        raise KeyError(config.size)
    OPEN.append(config.size)
    try:
        yield config
    finally:
        OPEN.remove(config.size)

DRIVER = Driver(Kind("gadget", "…"), "one", "Is a gadget.", Config, open)
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "toy_gadgets", raising=False)
    declared = "[penstock.drivers.gadget]\none = toy_gadgets:DRIVER\n"
    packages.install(tmp_path, "toy-gadgets", "1", declared, {"toy_gadgets": MODULE})


def read(tmp_path: Path, text: str) -> dict[str, chosen.Chosen[Any]]:
    file = tmp_path / "drivers.toml"
    file.write_text(text)
    return dict(chosen.read(KIND, chosen.load(file), file.name))


async def test_what_is_chosen_is_open_while_it_is_used(tmp_path: Path) -> None:
    both = read(tmp_path, '[gadget.one]\nsize = 3\n[gadget.two]\ndriver = "one"\n')
    from toy_gadgets import OPEN  # pyright: ignore

    assert OPEN == [], "reading opens nothing"
    async with chosen.opened(both) as opened:
        assert {name: each.size for name, each in opened.items()} == {"one": 3, "two": 1}
        assert OPEN == [3, 1]
    assert OPEN == []


async def test_one_that_cannot_be_opened_is_named_and_the_others_are_closed(tmp_path: Path) -> None:
    both = read(tmp_path, '[gadget.one]\n[gadget.two]\ndriver = "one"\nsize = 13\n')
    with pytest.raises(DriverBug, match=r"driver gadget\.two has a bug: it raised KeyError"):
        async with chosen.opened(both):
            pytest.fail("it was not opened")
    from toy_gadgets import OPEN  # pyright: ignore

    assert OPEN == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gadget.one]\nsize = 'x'\n", "gadget.one.size: must be a whole number"),
        ("[gadget.one]\nsise = 1\n", "gadget.one.sise: there is no such field; the fields are"),
        ("[gadget.big]\nsize = 1\n", "gadget.big: there is no driver gadget.big here; installed"),
        ("[gadget.big]\ndriver = 1\n", "gadget.big.driver: must be text, the name of a driver"),
        ("[gadget.One]\n", "gadget.One: a name is small letters, digits and dashes"),
        ("[gadget]\none = 3\n", "gadget.one: must be a table"),
        ("gadget = 3\n", "gadget: must be a table"),
        ("[gadgets.one]\n", "gadgets: there is no such kind of driver; there are gadget"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_field(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        read(tmp_path, text)
    [only] = raised.value.problems
    assert only.startswith(f"drivers.toml: {told}"), only


def test_tables_of_another_kind_are_another_planes(tmp_path: Path) -> None:
    other = "[penstock.drivers.gizmo]\nany = toy_gadgets:DRIVER\n"
    packages.install(tmp_path, "toy-gizmos", "1", other, {})
    assert set(read(tmp_path, "[gadget.one]\n[gizmo.any]\nanything = 1\n")) == {"one"}


@pytest.mark.parametrize("text", [None, "[gadget"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "drivers.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Misconfigured, match=r"drivers\.toml: cannot be read: "):
        chosen.load(file)
