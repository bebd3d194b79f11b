"""Which drivers are installed here: found by entry points, whoever wrote them.

A kind of driver is declared once, beside its protocol. A driver is declared once, in a package of
its own or another's, under the entry point group of its kind:

    [project.entry-points."penstock.drivers.realm"]
    keycloak = "penstock.drivers.keycloak:DRIVER"

A driver that cannot be used is reported by its name; it never keeps others from being found.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Generic, TypeVar, cast

from penstock_contracts.drivers import config

PREFIX: Final = "penstock.drivers."
P = TypeVar("P")  # the protocol of a kind
C = TypeVar("C")  # the configuration of a driver


@dataclass(frozen=True)
class Kind(Generic[P]):
    """One sort of thing that differs by vendor."""

    name: str
    sentence: str
    abilities: Mapping[str, type] = field(default_factory=dict[str, type])  # what some can besides

    @property
    def group(self) -> str:
        return PREFIX + self.name


@dataclass(frozen=True)
class Driver(Generic[P, C]):
    """What an entry point names. Importing it does nothing.

    `open` should reach nobody: a plane starts only once its drivers are open, and it shall start
    while a vendor is away. When its block ends, everything that it began has ended.
    """

    kind: Kind[P]
    name: str
    sentence: str
    config: type[C]
    open: Callable[[C], AbstractAsyncContextManager[P]]
    abilities: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Origin:
    """Where an entry point comes from."""

    kind: str
    name: str
    package: str
    version: str


@dataclass(frozen=True)
class Installed(Generic[P]):
    origin: Origin
    driver: Driver[P, Any]


@dataclass(frozen=True)
class Broken:
    origin: Origin
    reason: str


class NoDriver(Exception):
    """There is no such driver here, or it cannot be used; the message says which."""


def kinds() -> tuple[str, ...]:
    """The kinds that anything is installed for."""
    groups = entry_points().groups
    return tuple(sorted(each.removeprefix(PREFIX) for each in groups if each.startswith(PREFIX)))


def installed() -> tuple[Installed[Any] | Broken, ...]:
    """Everything that calls itself a driver, usable or not."""
    found = (_load_all(entry_points(group=PREFIX + kind)) for kind in kinds())
    return tuple(each for group in found for each in group)


def find(kind: Kind[P], name: str) -> Driver[P, Any]:
    """The driver of that name. No other is imported."""
    entries = entry_points(group=kind.group)
    for each in _load_all(entry for entry in entries if entry.name == name):
        if isinstance(each, Broken):
            raise NoDriver(f"driver {kind.name}.{name} cannot be used: {each.reason}")
        return cast("Driver[P, Any]", each.driver)
    known = ", ".join(sorted(entries.names)) or "none"
    raise NoDriver(f"there is no driver {kind.name}.{name} here; installed are: {known}")


def _load_all(entries: Iterable[EntryPoint]) -> list[Installed[Any] | Broken]:
    ordered = sorted(entries, key=lambda entry: (entry.name, _origin(entry).package))
    times = Counter(entry.name for entry in ordered)
    packages = ", ".join(
        sorted({_origin(each).package for each in ordered if times[each.name] > 1})
    )
    twice = f"more than one package declares it ({packages}): remove all but one"
    return [
        Broken(_origin(entry), twice) if times[entry.name] > 1 else _load(entry)
        for entry in ordered
    ]


def _load(entry: EntryPoint) -> Installed[Any] | Broken:
    origin = _origin(entry)
    try:
        named: object = entry.load()
    except (Exception, SystemExit) as error:  # whatever a stranger's module does
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Broken(origin, f"{entry.value} cannot be imported ({said})")
    if not isinstance(named, Driver):
        return Broken(origin, f"{entry.value} is not a Driver")
    driver = cast("Driver[Any, Any]", named)
    wrong = _mistake(driver, entry)
    return Broken(origin, wrong) if wrong else Installed(origin, driver)


def _mistake(driver: Driver[Any, Any], entry: EntryPoint) -> str | None:
    """What its authors got wrong in the declaration."""
    if driver.kind.group != entry.group:
        return f"it is a driver of kind {driver.kind.name}, declared in the group {entry.group}"
    if driver.name != entry.name:
        return f"it calls itself {driver.name}, and its entry point calls it {entry.name}"
    if strange := sorted(driver.abilities - set(driver.kind.abilities)):
        return f"it claims abilities that kind {driver.kind.name} does not have: {strange}"
    try:
        config.describe(driver.config)
    except TypeError as error:
        return str(error)
    return None


def _origin(entry: EntryPoint) -> Origin:
    package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "")
    return Origin(entry.group.removeprefix(PREFIX), entry.name, package, version)
