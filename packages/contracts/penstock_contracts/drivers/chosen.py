"""The drivers that an operator chose for a plane: tables of a TOML file, by kind and name.

    [realm.keycloak]        # a realm driver, known by this name
    url = "https://keycloak.example"

    [realm.keycloak-eu]     # another one of the same
    driver = "keycloak"
    url = "https://keycloak.eu.example"

Planes may share a file: each reads the tables of the kinds that it uses. A table of a kind that
nothing installed here has is refused, as a typo would be.
"""

import re
import tomllib
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from penstock_contracts.drivers import config, faults, registry
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.registry import Driver, Kind, NoDriver

P = TypeVar("P")
NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Chosen(Generic[P]):
    """A driver with its configuration, not opened yet."""

    driver: Driver[P, Any]
    config: object


def load(path: Path) -> Mapping[str, object]:
    """The tables of a file. Raises Misconfigured."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misconfigured([f"{path}: cannot be read: {error}"]) from None


def read(kind: Kind[P], tables: Mapping[str, object], source: str) -> Mapping[str, Chosen[P]]:
    """What is chosen of a kind, by name. Raises Misconfigured with all that is wrong."""
    known = sorted({kind.name, *registry.kinds()})
    problems = [
        f"{source}: {each}: there is no such kind of driver; there are {', '.join(known)}"
        for each in tables
        if each not in known
    ]
    chosen: dict[str, Chosen[P]] = {}
    for name, table in _tables(tables.get(kind.name, {}), f"{source}: {kind.name}").items():
        try:
            chosen[name] = _read(kind, name, table, f"{source}: {kind.name}.{name}")
        except Misconfigured as error:
            problems += error.problems
    if problems:
        raise Misconfigured(problems)
    return chosen


@asynccontextmanager
async def opened(chosen: Mapping[str, Chosen[P]]) -> AsyncGenerator[Mapping[str, P]]:
    """All of them, by name, until the end of the block."""
    opened: dict[str, P] = {}
    async with AsyncExitStack() as stack:
        for name, each in chosen.items():
            with faults.only_faults(f"{each.driver.kind.name}.{name}"):
                opened[name] = await stack.enter_async_context(each.driver.open(each.config))
        yield opened


def _read(kind: Kind[P], name: str, table: object, where: str) -> Chosen[P]:
    if not NAME.fullmatch(name):
        raise Misconfigured([f"{where}: a name is small letters, digits and dashes, at most 40"])
    given = _tables(table, where)
    called = given.pop("driver", name)
    if not isinstance(called, str):
        raise Misconfigured([f"{where}.driver: must be text, the name of a driver"])
    try:
        driver = registry.find(kind, called)
    except NoDriver as error:
        raise Misconfigured([f"{where}: {error}"]) from None
    return Chosen(driver, config.read(driver.config, given, where))


def _tables(given: object, where: str) -> dict[str, object]:
    if not isinstance(given, dict):
        raise Misconfigured([f"{where}: must be a table"])
    return dict(cast("dict[str, object]", given))
