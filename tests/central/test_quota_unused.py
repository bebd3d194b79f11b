"""Quotas of clusters and of bytes of volumes: nouns that are not there yet, so nothing is used,
and every other rule holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.central import fleet
from penstock.central.quotas import refusals, rules, words
from penstock.central.quotas import service as quotas
from penstock.central.quotas.form import Limit, LimitView
from penstock.central.quotas.ledger import Demand, Ledger
from penstock.central.quotas.model import Kind, Level, Line, Measure, Scope
from penstock.central.quotas.model import Limit as Given
from penstock.kernel.actor import SYSTEM
from penstock.kernel.errors import Conflict
from penstock.kernel.questions import ask
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId

from .plane import Api, Central, Json, Tenant
from .stand_in_site import StandInSite

UNUSED = [("clusters", "clusters_max", "4 clusters", 1),
          ("volumes", "volumes_bytes_max", "4 GiB of volumes", 2**30)]  # fmt: skip
each_kind = pytest.mark.parametrize(("kind", "field", "four", "unit"), UNUSED)
CLUSTERS, VOLUMES = Measure(Kind.CLUSTERS), Measure(Kind.VOLUMES)
BYTES_MAX = 2**53 - 1


async def put(api: Api, **body: object) -> Json:
    answer = await api.put("/v1/quotas", **body)
    assert answer.status == 200, answer.json
    return answer.json


@pytest.mark.anyio
@each_kind
async def test_a_limit_stays_between_its_parents_and_its_children(
    central: Central, tenant: Tenant, kind: str, field: str, four: str, unit: int
) -> None:
    admin, platform = tenant.admin, central.platform
    await admin.made("/v1/organizations", name="research")
    await admin.made("/v1/projects", name="lab", organization="research")
    shown = await put(platform, tenant=tenant.id, **{field: 4 * unit})
    assert (shown["kind"], shown["limit"], shown["used"]) == (kind, 4 * unit, 0)
    for scope in ({"organization": "research"}, {"project": "lab"}):
        above = await admin.put("/v1/quotas", **scope, **{field: 4 * unit + 1})
        assert (above.status, above.code) == (409, "quota_above_parent")
        assert f"may hold {four}" in above.json["detail"]
    await put(admin, organization="research", **{field: 3 * unit})
    above = await admin.put("/v1/quotas", project="lab", **{field: 3 * unit + 1})
    assert (above.code, above.json["scope"]) == ("quota_above_parent", "organization")
    await put(admin, project="lab", **{field: 2 * unit})
    below = await admin.put("/v1/quotas", organization="research", **{field: 2 * unit - 1})
    assert (below.status, below.code) == (409, "quota_below_child")
    assert (below.json["scope"], below.json["limit"]) == ("project", 2 * unit)
    below = await platform.put("/v1/quotas", tenant=tenant.id, **{field: 3 * unit - 1})
    assert (below.code, below.json["scope"]) == ("quota_below_child", "organization")
    await put(admin, project="lab", **{field: 0})
    assert await central.violations() == {}


@pytest.mark.anyio
@each_kind
async def test_a_limit_is_shown_told_and_removed(
    central: Central, tenant: Tenant, kind: str, field: str, four: str, unit: int
) -> None:
    await put(tenant.admin, project="main", **{field: unit})
    await put(tenant.admin, project="main", **{field: unit})
    await put(tenant.admin, project="main", **{field: 2 * unit})
    total, line = (await tenant.viewer.get("/v1/quotas", project="main")).items
    assert (total["kind"], line["kind"], line["limit"], line["used"]) == ("gpus", kind, 2 * unit, 0)
    assert (line["gpus_max"], line["family"], line["currency"]) == (None, None, None)
    gone = await tenant.admin.delete("/v1/quotas", project="main", kind=kind)
    assert (gone.status, gone.json["kind"], gone.json["limit"]) == (200, kind, None)
    assert [each["kind"] for each in (await tenant.viewer.get("/v1/quotas")).items] == ["gpus"]
    told = await central.rows(
        "SELECT action, detail FROM audit_entries WHERE action LIKE 'quota.%' ORDER BY seq"
    )
    assert [(row["action"], row["detail"]) for row in told] == [
        ("quota.set", {field: unit, "before": {field: None}}),
        ("quota.set", {field: 2 * unit, "before": {field: unit}}),
        ("quota.remove", {field: None, "before": {field: 2 * unit}}),
    ]


@pytest.mark.anyio
async def test_the_most_bytes_are_exact(central: Central, tenant: Tenant) -> None:
    shown = await put(central.platform, tenant=tenant.id, volumes_bytes_max=BYTES_MAX)
    assert shown["limit"] == BYTES_MAX
    assert float(shown["limit"]) != float(BYTES_MAX + 1), "JavaScript tells it from the next"


@pytest.mark.anyio
async def test_leases_are_neither_limited_nor_slowed_by_what_they_do_not_use(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    for field in ("clusters_max", "volumes_bytes_max"):
        await put(central.platform, tenant=tenant.id, **{field: 0})
        await put(tenant.admin, project="main", **{field: 0})
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    (project,) = await central.rows("SELECT * FROM projects WHERE tenant_id = $1", tenant.id)
    organization = OrganizationId(project["organization_id"])
    demand = Demand(TenantId(tenant.id), organization, ProjectId(project["id"]), "h100", 1)
    async with central.database.transaction() as tx:
        ledger = Ledger(await ask(tx, Ledger.around(tx, demand.scopes)))
    assert not vars(ledger)["_lines"], "they are not even read"


@pytest.mark.anyio
async def test_only_limits_on_what_is_leased_wake_who_waits_for_room(
    central: Central, tenant: Tenant
) -> None:
    scope = Scope(Level.TENANT, tenant.id, TenantId(tenant.id))
    for kind in Kind:
        measure = Measure(kind, currency="USD" if kind is Kind.SPEND else "")
        async with central.database.transaction() as tx:
            await quotas.set_limit(tx, SYSTEM, scope, measure, 8)
            woken = fleet.ROOM in tx.outgoing.told
        assert woken == (kind in {Kind.GPUS, Kind.NODES, Kind.SPEND}), kind


@pytest.mark.anyio
@pytest.mark.parametrize("level", Level)
async def test_the_database_counts_every_kind_at_every_level(
    central: Central, tenant: Tenant, level: Level
) -> None:
    id = tenant.id if level is Level.TENANT else await central.value(f"SELECT id FROM {level}s")
    for kind in Kind:
        used = await central.value(
            "SELECT used FROM quota_use($1, $2, $3, $4, '', 'USD', now())",
            tenant.id, level, id, kind,
        )  # fmt: skip
        assert used == 0, kind


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_a_field_of_what_is_written_and_of_what_is_shown(kind: Kind) -> None:
    money = {"currency": "USD"} if kind is Kind.SPEND else {}
    limit = Limit.model_validate({kind.field: 7, **money})
    assert (limit.measure.kind, limit.most) == (kind, 7)
    shown = LimitView.of(limit.measure, limit.most).model_dump(exclude_none=True)
    assert shown == {kind.field: 7, **money}
    for other in set(Kind) - {kind}:
        with pytest.raises(ValidationError, match="give one of"):
            Limit.model_validate({kind.field: 7, other.field: 7, "currency": "USD"})


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1000, "1 kB"),
        (2**41, "2 TiB"), (2**41 + 1, "2199023255553 bytes"), (3 * 2**39, "1536 GiB"),
        (500 * 10**9, "500 GB"), (7 * 2**50, "7 PiB"), (BYTES_MAX, "9007199254740991 bytes"),
    ],
)  # fmt: skip
def test_bytes_are_said_for_people(count: int, said: str) -> None:
    assert words.bare(VOLUMES, count) == said
    assert words.so_much(VOLUMES, count) == f"{said} of volumes"


@given(st.integers(0, BYTES_MAX) | st.integers(0, 2**13).map(lambda n: n << 40))
def test_what_is_said_of_bytes_is_exact(count: int) -> None:
    number, unit = words.size(count).split()
    sizes = {unit: of for of, unit in words.UNITS} | {"byte": 1, "bytes": 1}
    assert int(number) * sizes[unit] == count


def test_clusters_are_said_as_they_are_counted() -> None:
    assert [words.so_much(CLUSTERS, n) for n in (0, 1, 4)] == [
        "0 clusters",
        "1 cluster",
        "4 clusters",
    ]


def test_what_is_used_is_never_limited_away_whatever_it_is() -> None:
    """Nothing is, until there are such nouns; the rule is there for them."""
    scope = Scope(Level.PROJECT, "p", TenantId("t"), OrganizationId("o"))
    for measure, used, freed in (
        (CLUSTERS, "3 clusters", "delete clusters first"),
        (VOLUMES, "3 bytes of volumes", "delete volumes first"),
    ):
        refused = rules.refusal(Given(scope, measure, 2), 3, [])
        assert refused is not None
        assert (refused.code, f"holds {used} now" in refused.detail) == ("quota_below_use", True)
        assert freed in (refused.suggestion or "")


def test_what_does_not_fit_is_told_what_would() -> None:
    line = Line(Level.PROJECT, "p", VOLUMES, 2**41, 2**40)
    refused = refusals.exceeded(line, 2**42)
    assert refused.detail == "project p holds 1 TiB of its 2 TiB of volumes; 4 TiB more do not fit"
    assert (refused.suggestion or "").startswith("ask for 1 TiB or less, delete a volume, or ask")
    full = refusals.exceeded(Line(Level.TENANT, "t", CLUSTERS, 4, 4), 1)
    assert (full.suggestion or "").startswith("delete a cluster, or ask the platform")


@pytest.mark.anyio
@pytest.mark.parametrize("measure", [CLUSTERS, VOLUMES], ids=str)
async def test_a_noun_that_comes_asks_whether_more_fits(
    central: Central, tenant: Tenant, measure: Measure
) -> None:
    await put(central.platform, tenant=tenant.id, **{measure.kind.field: 4})
    async with central.database.transaction() as tx:
        await quotas.refuse_more(tx, TenantId(tenant.id), measure, 4)
        with pytest.raises(Conflict, match=r"; 5 .*more do not fit"):
            await quotas.refuse_more(tx, TenantId(tenant.id), measure, 5)
