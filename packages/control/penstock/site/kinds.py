"""Every kind of site work: those that come with a site, and those of packages installed beside it.

A package declares its own as an entry point of the group below: its name is the kind's, its value a
function from `Tasks` to `Kind`.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Final

from penstock.site.leases import kind as leases
from penstock.site.sagas import kinds
from penstock.site.sagas.kinds import AnyKind, KindRefused, Kinds
from penstock.site.tasks.service import Tasks

GROUP: Final = "penstock.site_kinds"
OWN: Final[tuple[Callable[[Tasks], AnyKind], ...]] = (leases.kind,)


def load(tasks: Tasks) -> Kinds:
    return kinds.collect((*(make(tasks) for make in OWN), *_installed(tasks)))


def _installed(tasks: Tasks) -> Iterator[AnyKind]:
    for entry in entry_points(group=GROUP):
        made: object = entry.load()(tasks)
        if not isinstance(made, kinds.Kind) or made.name != entry.name:
            raise KindRefused(f"entry point {entry.value!r} does not make the kind {entry.name!r}")
        yield made
