"""The catalogue of a plane's events: each type, who may see it, and what it says.

Each noun declares its own types in its `events.py`; the plane puts them together. `events.emit`
refuses whatever is not in the catalogue, so what is published of it is all that can happen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Self

from penstock_contracts.ids import Id, TenantId

Json = dict[str, Any]


class NotInCatalogue(Exception):
    """The code would emit an event that its plane's catalogue does not have."""


class Audience(StrEnum):
    TENANT = "tenant"  # the tenant that it concerns, and the platform
    PLATFORM = "platform"  # the platform alone
    OWNER = "owner"  # whoever owns the subject: a tenant (and the platform), or the platform alone


# Whether an event has a tenant: row-level security shows it to that one. Of an owner's, either.
HAS_TENANT: Final = {Audience.TENANT: True, Audience.PLATFORM: False, Audience.OWNER: None}


@dataclass(frozen=True)
class Field:
    """One value of a payload, as JSON Schema says it."""

    schema: Json
    required: bool = True

    @property
    def or_absent(self) -> Self:
        return replace(self, required=False)

    @property
    def or_null(self) -> Self:
        return replace(self, schema={"anyOf": [self.schema, {"type": "null"}]})


TEXT: Final = Field({"type": "string"})
INTEGER: Final = Field({"type": "integer"})
NUMBER: Final = Field({"type": "number"})
FLAG: Final = Field({"type": "boolean"})
TIME: Final = Field({"type": "string", "format": "date-time"})
TEXTS: Final = Field({"type": "array", "items": {"type": "string"}})
OBJECT: Final = Field({"type": "object"})


def id_of(kind: type[Id]) -> Field:
    return Field({"type": "string", "pattern": f"^{kind.prefix}_"})


def one_of(words: Iterable[str]) -> Field:
    """One of an enumeration's words."""
    return Field({"type": "string", "enum": [str(word) for word in words]})


@dataclass(frozen=True)
class EventType:
    """`noun.participle`, a sentence for people, and the fields of its payload."""

    name: str
    sentence: str
    audience: Audience
    subject: type[Id] | tuple[type[Id], ...]  # what kind of thing it happened to
    fields: Mapping[str, Field] = field(default_factory=dict[str, Field])
    # Made once, because they are compared for each event.
    names: frozenset[str] = field(init=False)  # of the fields
    has_tenant: bool | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(self.fields))
        object.__setattr__(self, "has_tenant", HAS_TENANT[self.audience])

    @property
    def subjects(self) -> tuple[type[Id], ...]:
        return self.subject if isinstance(self.subject, tuple) else (self.subject,)

    @property
    def required(self) -> list[str]:
        return [name for name, each in self.fields.items() if each.required]

    def schema(self) -> Json:
        """Of the payload. More fields may come: a reader passes over those it does not know."""
        properties = {name: each.schema for name, each in self.fields.items()}
        return {"type": "object", "properties": properties, "required": self.required}

    def check(self, tenant_id: TenantId | None, data: Mapping[str, object]) -> None:
        """Refuses what was not declared. Looks at names only: it is done for every event."""
        if len(data) != len(self.names) or not self.names.issuperset(data):
            self._check_names(data.keys())
        if self.has_tenant is (tenant_id is None):
            needs = "needs a tenant_id" if self.has_tenant else "cannot have a tenant_id"
            raise NotInCatalogue(
                f"event {self.name} is for the audience {self.audience}, so it {needs}; "
                "correct the call or the event's declaration"
            )

    def _check_names(self, given: Iterable[str]) -> None:
        unknown, missing = set(given) - self.names, set(self.required) - set(given)
        if unknown or missing:
            raise NotInCatalogue(
                f"event {self.name} declares no field {sorted(unknown)}"
                if unknown
                else f"event {self.name} needs the fields {sorted(missing)}"
            )


class Catalogue:
    """Every type that a plane may emit, and the name (CloudEvents' `source`) of that plane."""

    def __init__(self, source: str, types: Iterable[EventType]) -> None:
        self.source = source
        self.types: dict[str, EventType] = {}
        for each in types:
            if each.name in self.types:
                raise NotInCatalogue(f"event {each.name} is declared twice; declare it once")
            self.types[each.name] = each

    def check(self, type: str, tenant_id: TenantId | None, data: Mapping[str, object]) -> None:
        known = self.types.get(type)
        if known is None:
            raise NotInCatalogue(
                f"event {type} is not in the catalogue of {self.source}; "
                "declare it in the events.py of its noun"
            )
        known.check(tenant_id, data)


class Unchecked(Catalogue):
    """Refuses nothing: for a database that is opened without a plane, as some tests do."""

    def check(self, type: str, tenant_id: TenantId | None, data: Mapping[str, object]) -> None:
        pass


UNCHECKED: Final = Unchecked("/penstock", ())
