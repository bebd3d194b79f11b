"""Every numbered rule of a protocol has a test of that number in its suite."""

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from penstock_contracts import conformance, drivers
from penstock_contracts.conformance.declaration import DeclarationConformance
from penstock_contracts.drivers.registry import Kind

RULE: Final = re.compile(r"^ +(\d+)\. ", re.MULTILINE)
TEST: Final = re.compile(r"test_(\d+)_")


def modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(path.stem for path in Path(str(package.__file__)).parent.glob("[a-z]*.py"))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def kinds() -> dict[str, str]:
    """Each kind that is declared, and the text of its protocol's rules."""
    found: dict[str, str] = {}
    for module in modules(drivers):
        members: list[Any] = list(vars(module).values())
        protocols = [each for each in members if getattr(each, "_is_protocol", False)]
        declared: list[Kind[Any]] = [each for each in members if isinstance(each, Kind)]
        for kind in declared:
            found[kind.name] = "\n".join(str(each.__doc__) for each in protocols)
    return found


def suites() -> dict[str, type[DeclarationConformance]]:
    modules(conformance)  # a class is known once its module is imported
    return {each.kind.name: each for each in DeclarationConformance.__subclasses__()}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_rule_has_a_test_of_its_number(kind: str) -> None:
    rules = {int(number) for number in RULE.findall(kinds()[kind])}
    suite = suites()[kind]
    tested = {int(found[1]) for name in dir(suite) if (found := TEST.match(name))}
    assert rules, f"the protocol of {kind} numbers its rules"
    assert tested == rules
