"""The catalogue of events and the code agree, both ways; what is outside it cannot be emitted."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock.central.events import CATALOGUE
from penstock.kernel import catalogue as kinds
from penstock.kernel import db, events
from penstock.kernel.catalogue import Audience, Catalogue, EventType, Field, NotInCatalogue
from penstock.site import events as site_events
from penstock_contracts.ids import SiteId, TenantId

from . import emissions, payloads
from .emissions import Emission
from .plane import Central

TENANT = TenantId("tenant_x")
DESCRIBED = Path(__file__).parents[2] / "openapi" / "central.json"
SITE = site_events.catalogue(SiteId("site_x"))


def disagreements(catalogue: Catalogue, emitted: Iterable[Emission]) -> list[str]:
    """Each with what to write where."""
    wrong: list[str] = []
    never = set(catalogue.types)
    for emission in emitted:
        if not emission.types:
            wrong.append(
                f"{emission.place}: the source does not tell the event's type; write it as a "
                'literal, as `"a" if … else "b"`, or as an entry of a table of literals beside it'
            )
        never -= set(emission.types)
        for type in emission.types:
            wrong += _fault(catalogue, emission, type)
    wrong += [
        f"{type} is declared and never emitted; delete its EventType from the events.py of its noun"
        for type in sorted(never)
    ]
    return wrong


def _fault(catalogue: Catalogue, emission: Emission, type: str) -> Iterable[str]:
    known = catalogue.types.get(type)
    if known is None:
        fields = ", ".join(f'"{name}": TEXT' for name in sorted(emission.fields))
        yield (
            f"{emission.place} emits {type}, which is not in the catalogue. Add to EVENTS in "
            f"{emissions.declared_in(emission, type)}, which the plane's events.py lists:"
            f'\n    EventType("{type}", "A SENTENCE.", Audience.TENANT, SUBJECT, {{{fields}}}),'
            "\nwith each field's own kind and audience (kernel/catalogue.py); then `make events`"
        )
        return
    for name in sorted(emission.fields - known.names):
        yield (
            f"{emission.place}: {type} declares no field `{name}`. Add to its EventType: "
            f'"{name}": TEXT (or what it is; `.or_absent` if only some have it); then `make events`'
        )
    missing = sorted(set(known.required) - emission.fields)
    if missing and not emission.more:
        yield f"{emission.place}: {type} needs {missing}; say it there, or declare it `.or_absent`"


@pytest.mark.parametrize(("plane", "catalogue"), [("central", CATALOGUE), ("site", SITE)])
def test_the_catalogue_has_every_event_that_the_code_emits_and_no_other(
    plane: str, catalogue: Catalogue
) -> None:
    wrong = disagreements(catalogue, emissions.of(plane))
    assert not wrong, "\n" + "\n".join(wrong)


def test_no_event_goes_past_the_check() -> None:
    assert not emissions.appended_past_the_check(), "emit it with events.emit"
    assert not emissions.opened_unchecked(), "give db.connect the plane's catalogue"


def test_the_source_names_the_plane() -> None:
    assert (CATALOGUE.source, SITE.source) == ("/penstock/central", "/penstock/sites/site_x")


SMALL = Catalogue(
    "/small",
    (
        EventType("thing.made", "It is.", Audience.TENANT, TenantId, {"name": kinds.TEXT}),
        EventType("thing.lost", "It is not.", Audience.PLATFORM, TenantId),
    ),
)
MADE = "def f(tx):\n    events.emit(tx, 'thing.made', 'x', name=1)\n"
LOST = "def g(tx):\n    events.emit(tx, 'thing.lost', 'x', tenant_id=2)\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (MADE, "thing.lost is declared and never emitted"),
        (MADE + LOST + "def h(tx):\n    events.emit(tx, 'thing.new', 'x', by=1)\n", "f.py:6 emits"),
        (MADE + LOST + "def h(tx):\n    events.emit(tx, f'thing.{x}', 'x')\n", "does not tell"),
        (MADE + LOST + "def h(tx, type):\n    events.emit(tx, type, 'x')\n", "does not tell"),
        (MADE + LOST.replace("tenant_id", "why"), "declares no field `why`"),
        (LOST + MADE.replace("name", "tenant_id"), "needs ['name']"),
    ],
)
def test_each_disagreement_is_found_and_says_what_to_do(source: str, said: str) -> None:
    (wrong,) = disagreements(SMALL, emissions.read(source, "f.py"))
    assert said in wrong


@pytest.mark.parametrize(
    "both",
    [
        "def f(tx):\n    events.emit(tx, 'thing.made' if x else 'thing.lost', 'x', **y)\n",
        "def f(tx):\n    a = 'thing.made' if x else 'thing.lost'\n    events.emit(tx, a, x, **y)\n",
        "T = {1: 'thing.made', 2: 'thing.lost'}\ndef f(tx):\n    events.emit(tx, T[1], 'x', **y)\n",
    ],
)
def test_a_choice_between_literals_is_understood(both: str) -> None:
    assert disagreements(SMALL, emissions.read(both, "f.py")) == []


@pytest.mark.parametrize(
    ("type", "tenant", "data", "said"),
    [
        ("thing.unheard", None, {}, "thing.unheard is not in the catalogue of /small"),
        ("thing.made", TENANT, {"name": "a", "colour": "red"}, r"declares no field \['colour'\]"),
        ("thing.made", TENANT, {}, r"needs the fields \['name'\]"),
        ("thing.made", None, {"name": "a"}, "needs a tenant_id"),
        ("thing.lost", TENANT, {}, "cannot have a tenant_id"),
    ],
)
def test_what_is_outside_the_catalogue_is_refused(
    type: str, tenant: TenantId | None, data: dict[str, object], said: str
) -> None:
    with pytest.raises(NotInCatalogue, match=said):
        SMALL.check(type, tenant, data)
    SMALL.check("thing.made", TENANT, {"name": "a"})
    SMALL.check("thing.lost", None, {})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (kinds.INTEGER, [1], ["1", 1.5, True, None]),
        (kinds.TIME.or_null, ["2026-01-01T00:00:00+00:00", None], ["2026-01-01T00:00:00", 5]),
        (kinds.TEXTS, [[], ["a"]], [[1], "a"]),
        (kinds.one_of(["a", "b"]), ["a"], ["c"]),
        (kinds.id_of(TenantId), [str(TENANT)], ["site_1"]),
    ],
)
def test_a_payload_that_is_not_as_declared_is_noticed(
    schema: Field, good: list[object], bad: list[object]
) -> None:
    assert all(payloads.fits(schema.schema, value) for value in good)
    assert not any(payloads.fits(schema.schema, value) for value in bad)


def test_a_type_is_declared_once() -> None:
    with pytest.raises(NotInCatalogue, match="declared twice"):
        Catalogue("/small", (*SMALL.types.values(), *SMALL.types.values()))


@pytest.mark.anyio
async def test_a_plane_emits_nothing_outside_its_catalogue(central_url: str) -> None:
    database = await db.connect(central_url, "central", catalogue=SMALL)
    try:
        async with database.transaction() as tx:
            with pytest.raises(NotInCatalogue):
                events.emit(tx, "thing.unheard", "x")
            events.emit(tx, "thing.lost", "x")
        async with database.transaction() as tx:
            (event,) = await events.read(tx)
    finally:
        await database.close()
    assert (event.type, event.envelope()["source"]) == ("thing.lost", "/small")


def test_sentences_are_sentences_and_types_are_noun_and_participle() -> None:
    for each in CATALOGUE.types.values():
        assert each.sentence[0].isupper(), each.name
        assert each.sentence.endswith("."), each.name
        noun, dot, participle = each.name.partition(".")
        assert noun, each.name
        assert dot, each.name
        assert participle.isidentifier(), each.name


@pytest.mark.anyio
async def test_the_api_describes_the_catalogue_and_emits_from_it(central: Central) -> None:
    answer = await central.platform.get("/v1/openapi.json")
    described = answer.json["x-events"]
    assert described.keys() == CATALOGUE.types.keys()
    assert json.loads(DESCRIBED.read_text())["x-events"] == described
    placed = described["allocation.placed"]
    assert placed["audience"] == "tenant"
    assert placed["subject"] == ["alloc"]
    assert set(placed["data"]["required"]) == {"project", "sku", "gpus", "node", "site"}
    tenant = await central.tenant("acme")
    timeline = await tenant.admin.get(f"/v1/tenants/{tenant.id}/timeline")
    assert timeline.items
    for envelope in timeline.items:
        assert envelope["source"] == "/penstock/central"
        assert answer.json["components"]["schemas"]["Event"]["required"] == list(envelope)
