"""Kinds of site work: each a decoder of its documents, and the sagas that make them true."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from penstock.site.documents.model import KIND, Document
from penstock.site.documents.service import Decode
from penstock.site.sagas.model import S, Saga


class KindRefused(Exception):
    """A kind cannot be added to this site."""


@dataclass(frozen=True)
class Kind(Generic[S]):
    name: str
    decode: Callable[[Document], S]  # raises ValueError, in words, if it cannot be
    saga_for: Callable[[S], Saga[S]]  # what makes it true
    sagas: tuple[Saga[S], ...]  # all that `saga_for` may answer

    def saga(self, name: str) -> Saga[S] | None:
        return next((saga for saga in self.sagas if saga.name == name), None)


AnyKind = Kind[Any]  # each has a subject of its own; its decoder and its sagas agree on it


@dataclass(frozen=True)
class Kinds:
    """All that a site knows, by name."""

    by_name: Mapping[str, AnyKind] = field(default_factory=dict[str, AnyKind])

    @property
    def decoders(self) -> dict[str, Decode]:
        return {name: kind.decode for name, kind in self.by_name.items()}


def collect(kinds: Iterable[AnyKind]) -> Kinds:
    found: dict[str, AnyKind] = {}
    for kind in kinds:
        if not KIND.fullmatch(kind.name):
            raise KindRefused(f"{kind.name!r} cannot be the name of a kind of site work")
        if kind.name in found:
            raise KindRefused(f"two packages bring the kind {kind.name!r}: uninstall one of them")
        found[kind.name] = kind
    return Kinds(found)
