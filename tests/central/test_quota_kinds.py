"""Quotas of every kind but GPUs, over HTTP; of every kind in files and templates."""

import asyncio
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.central.networks import service as networks
from penstock.central.networks.model import Network
from penstock.central.quotas import model
from penstock.central.quotas import service as quotas
from penstock.central.quotas.ledger import Demand, Ledger
from penstock.central.quotas.model import (
    NODES,
    TOTAL,
    VLANS,
    Kind,
    Level,
    Line,
    Measure,
    Scope,
    gpus,
    spend,
)
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId

from .plane import Api, Central, Json, Tenant
from .stand_in_site import Node, StandInSite, now_us
from .test_onboarding import FILE, ended, onboard, pools
from .test_onboarding_again import changed

METAL = {"project": "main", "sku": "h100.metal"}
SLICE = {"project": "main", "sku": "h100.slice", "gpus": 1}
HOURLY = 3_600_000  # of a GPU of the tests' SKUs


async def put(api: Api, **body: object) -> Json:
    answer = await api.put("/v1/quotas", **body)
    assert answer.status == 200, answer.json
    return answer.json


async def lines(api: Api, **which: str) -> dict[str, tuple[int | None, int]]:
    listed = (await api.get("/v1/quotas", **which)).items
    return {line["kind"]: (line["limit"], line["used"]) for line in listed if not line["family"]}


@pytest.mark.anyio
async def test_whole_nodes_are_limited_at_every_level(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await site.add(Node("second"))
    await put(central.platform, tenant=tenant.id, nodes_max=2)
    above = await tenant.admin.put("/v1/quotas", project="main", nodes_max=3)
    assert (above.status, above.code) == (409, "quota_above_parent")
    assert "may hold 2 whole nodes" in above.json["detail"]
    shown = await put(tenant.admin, organization="default", nodes_max=1)
    assert (shown["kind"], shown["limit"], shown["used"]) == ("nodes", 1, 0)
    assert (shown["gpus_max"], shown["gpus_used"], shown["family"]) == (None, None, None)
    lease = await tenant.member.made("/v1/allocations", **METAL)
    refused = await tenant.member.post("/v1/allocations", **METAL)
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    said = {key: refused.json[key] for key in ("scope", "kind", "limit", "used", "asked", "left")}
    assert said == {
        "scope": "organization", "kind": "nodes", "limit": 1, "used": 1, "asked": 1, "left": 0,
    }  # fmt: skip
    await tenant.member.made("/v1/allocations", **SLICE)
    below = await tenant.admin.put("/v1/quotas", organization="default", nodes_max=0)
    assert (below.code, below.json["used"], below.json["limit"]) == ("quota_below_use", 1, 0)
    assert await lines(tenant.viewer) == {"gpus": (None, 9), "nodes": (2, 1)}
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    await site.clean(await site.order(lease, revision=2))
    await put(tenant.admin, organization="default", nodes_max=0)
    gone = await tenant.admin.delete("/v1/quotas", organization="default", kind="nodes")
    assert (gone.status, gone.json["limit"]) == (200, None)
    assert await lines(tenant.viewer, organization="default") == {"gpus": (None, 1)}
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_vlans_are_limited_where_they_are_given(central: Central, tenant: Tenant) -> None:
    await pools(central)
    path = f"/v1/tenants/{tenant.id}/network"
    await put(central.platform, tenant=tenant.id, vlans_max=3)
    await central.platform.made(path, vlans=2)
    refused = await central.platform.post(path, vlans=2, vni=True)
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    assert (refused.json["kind"], refused.json["used"], refused.json["left"]) == ("vlans", 2, 1)
    assert "ask for 1 or fewer" in refused.json["suggestion"]
    assert await lines(tenant.viewer) == {"gpus": (None, 0), "vlans": (3, 2)}
    await central.platform.made(path, vlans=1, vni=True)
    await central.platform.made(path, ipv4=[24])
    below = await central.platform.put("/v1/quotas", tenant=tenant.id, vlans_max=2)
    assert (below.status, below.code, below.json["used"]) == (409, "quota_below_use", 3)
    for scope in ({"project": "main"}, {"organization": "default"}):
        inner = await tenant.admin.put("/v1/quotas", **scope, vlans_max=1)
        assert (inner.status, inner.code) == (422, "invalid")
        assert "counted for a whole tenant" in inner.json["detail"]
    other = await central.tenant("other")
    await central.platform.made(f"/v1/tenants/{other.id}/network", vlans=4)
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_exactly_as_many_vlans_are_given_as_may_be(central: Central, tenant: Tenant) -> None:
    """Whoever gives and whoever limits take turns."""
    await pools(central)
    await put(central.platform, tenant=tenant.id, vlans_max=5)
    path = f"/v1/tenants/{tenant.id}/network"
    given = await asyncio.gather(*(central.platform.post(path, vlans=1) for _ in range(8)))
    assert sorted(answer.status for answer in given) == [201] * 5 + [409] * 3
    await put(central.platform, tenant=tenant.id, vlans_max=8)
    lowered, *given = await asyncio.gather(
        central.platform.put("/v1/quotas", tenant=tenant.id, vlans_max=5),
        *(central.platform.post(path, vlans=1) for _ in range(3)),
    )
    more = sum(answer.status == 201 for answer in given)
    assert more == 0 or lowered.code == "quota_below_use"
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_nobody_limits_vlans_while_they_are_given(central: Central, tenant: Tenant) -> None:
    await pools(central)
    scope = Scope(Level.TENANT, tenant.id, TenantId(tenant.id))
    async with central.database.transaction() as giving:
        await networks.expand(giving, SYSTEM, tenant.id, Network(vlans=1))
        async with central.database.transaction() as tx:
            await tx.execute("SET LOCAL lock_timeout = '100ms'")
            with pytest.raises(asyncpg.LockNotAvailableError):
                await quotas.set_limit(tx, SYSTEM, scope, VLANS, 0)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "limit",
    [
        {"nodes_max": 9},
        {"vlans_max": 9},
        {"clusters_max": 9},
        {"volumes_bytes_max": 9},
        {"spend_micros_max": 9, "currency": "USD"},
    ],
    ids=str,
)
async def test_a_tenant_limits_only_its_parts_and_only_its_own(
    central: Central, tenant: Tenant, limit: Json
) -> None:
    other = await central.tenant("other")
    kind = next(iter(limit)).partition("_")[0]
    which = {"kind": kind, **({"currency": "USD"} if kind == "spend" else {})}
    for scope, status in (({"tenant": tenant.id}, 403), ({"tenant": other.id}, 404),
                          ({"project": other.project}, 404)):  # fmt: skip
        refused = await tenant.admin.put("/v1/quotas", **scope, **limit)
        assert refused.status == status
        refused = await tenant.admin.delete("/v1/quotas", **scope, **which)
        assert refused.status == status
    for api in (tenant.member, tenant.viewer):
        assert (await api.put("/v1/quotas", project="main", **limit)).status == 403
    assert await central.value("SELECT count(*) FROM quotas") == 0


@pytest.mark.anyio
async def test_what_a_month_may_cost_is_limited_and_shown(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    limit = {"spend_micros_max": 10 * HOURLY, "currency": "USD"}
    shown = await put(central.platform, tenant=tenant.id, **limit)
    assert (shown["kind"], shown["currency"]) == ("spend", "USD")
    lease = await tenant.member.made("/v1/allocations", **SLICE)
    since_us = now_us() - 36_000_000
    await central.backdate(lease["id"], db.from_us(since_us))
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE, at_us=since_us)
    (_, _, line) = (await tenant.viewer.get("/v1/quotas")).items
    assert (line["limit"], line["burn_micros_per_hour"]) == (10 * HOURLY, HOURLY)
    assert 36_000 <= line["used"] < HOURLY
    refused = await tenant.member.post("/v1/allocations", **METAL)
    assert refused.code == "sku_unavailable", "one node, which is not free"
    await put(tenant.admin, project="main", spend_micros_max=2 * HOURLY, currency="USD")
    refused = await tenant.member.post("/v1/allocations", **{**SLICE, "gpus": 2})
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    assert (refused.json["scope"], refused.json["due"]) == ("project", HOURLY)
    assert 0 < refused.json["left"] < HOURLY
    below = await tenant.admin.put("/v1/quotas", project="main", spend_micros_max=1, currency="USD")
    assert (below.status, below.code) == (409, "quota_below_use")
    gone = await tenant.admin.delete("/v1/quotas", project="main", kind="spend", currency="USD")
    assert (gone.status, gone.json["limit"]) == (200, None)
    told = await central.rows(
        "SELECT detail FROM audit_entries WHERE action = 'quota.remove' ORDER BY seq"
    )
    assert [row["detail"] for row in told] == [
        {"currency": "USD", "spend_micros_max": None, "before": {"spend_micros_max": 2 * HOURLY}}
    ]


LIMITS: list[Json] = [
    {"gpus_max": 16}, {"nodes_max": 4}, {"vlans_max": 3},
    {"spend_micros_max": 10**9, "currency": "USD"}, {"spend_micros_max": 5, "currency": "EUR"},
    {"clusters_max": 6}, {"volumes_bytes_max": 2**41},
]  # fmt: skip


def inner(*limits: Json) -> list[Json]:
    return [{"name": "research", "quotas": [], "projects": [{"name": "llm", "quotas": [*limits]}]}]


async def kept(central: Central, tenant: str) -> set[tuple[str, str, int]]:
    rows = await central.rows("SELECT kind, currency, most FROM quotas WHERE scope_id = $1", tenant)
    return {(row["kind"], row["currency"], row["most"]) for row in rows}


@pytest.mark.anyio
async def test_a_file_brings_limits_of_every_kind(central: Central, site: StandInSite) -> None:
    await pools(central)
    parts = inner({"nodes_max": 2}, {"spend_micros_max": 7, "currency": "USD"},
                  {"clusters_max": 6}, {"volumes_bytes_max": 2**40})  # fmt: skip
    done = await onboard(central, quotas=LIMITS, organizations=parts)
    assert (done["status"], done["reason"]) == ("done", "")
    assert await kept(central, done["tenant"]) == {
        ("gpus", "", 16), ("nodes", "", 4), ("vlans", "", 3),
        ("spend", "USD", 10**9), ("spend", "EUR", 5), ("clusters", "", 6), ("volumes", "", 2**41),
    }  # fmt: skip
    said = {step["name"]: step["detail"] for step in done["steps"]}
    assert "4 whole nodes" in said["quotas"]
    assert "1000.00 USD" in said["quotas"]
    assert "6 clusters" in said["quotas"]
    assert "2 TiB of volumes" in said["quotas"]
    again = await onboard(central, quotas=LIMITS, organizations=parts)
    assert changed(again) == []
    more = {"networks": [{**FILE["networks"][0], "vlans": 6}], "organizations": parts}
    undone = await onboard(central, quotas=LIMITS, **more)
    assert (undone["status"], "holds 2 of its 3 VLANs" in undone["reason"]) == ("undone", True)
    raised = [{**limit, "vlans_max": 6} if "vlans_max" in limit else limit for limit in LIMITS]
    assert changed(await onboard(central, quotas=raised, **more)) == ["network"]
    fewer = await onboard(central, quotas=LIMITS[:2], **more)
    assert changed(fewer) == ["network", "quotas"]
    assert await kept(central, done["tenant"]) == {("gpus", "", 16), ("nodes", "", 4)}
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_change_of_the_limit_on_vlans_is_put_back(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    done = await onboard(central, quotas=LIMITS)
    too_many = {"networks": [{**FILE["networks"][0], "vlans": 90}]}
    raised = [*LIMITS[:2], {"vlans_max": 99}, *LIMITS[3:]]
    undone = await onboard(central, quotas=raised, **too_many)
    assert (undone["status"], "has 8 left" in undone["reason"]) == ("undone", True)
    assert ("vlans", "", 3) in await kept(central, done["tenant"])
    below = await onboard(central, quotas=[*LIMITS[:2], {"vlans_max": 5}, {"gpus_max": 1}][:3],
                          organizations=inner({"gpus_max": 17}))  # fmt: skip
    assert (below["status"], "may hold 16 GPUs" in below["reason"]) == ("undone", True)
    assert ("vlans", "", 3) in await kept(central, done["tenant"]), "the steps before are undone"


@pytest.mark.anyio
async def test_a_tenant_that_came_to_nothing_leaves_no_limit(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    undone = await onboard(central, quotas=LIMITS, organizations=inner({"gpus_max": 17}))
    assert undone["status"] == "undone"
    assert await central.value("SELECT count(*) FROM quotas") == 0
    begun = await central.platform.post("/v1/onboardings", **{**FILE, "quotas": [{"vlans_max": 1}]})
    undone = await ended(central, begun.json["id"])
    assert (undone["status"], "holds 0 of its 1 VLAN" in undone["reason"]) == ("undone", True)


@pytest.mark.anyio
async def test_a_template_gives_limits_of_every_kind(central: Central, site: StandInSite) -> None:
    await pools(central)
    made = await central.platform.put("/v1/templates/small", quotas=LIMITS)
    assert made.status == 200, made.json
    shown = [{k: v for k, v in each.items() if v is not None} for each in made.json["quotas"]]
    assert sorted(shown, key=str) == sorted(LIMITS, key=str)
    given: dict[str, Any] = {**FILE, "template": "small", "quotas": [{"nodes_max": 1}]}
    done = await onboard(central, **given)
    limits = await kept(central, done["tenant"])
    assert ("nodes", "", 1) in limits, "what the file says goes before"
    assert ("spend", "EUR", 5) in limits
    assert changed(await onboard(central, **given)) == []
    shown = await lines(central.platform, tenant=done["tenant"])
    assert (shown["clusters"], shown["volumes"]) == ((6, 0), (2**41, 0))


@pytest.mark.parametrize(
    "text", ["gpus", "gpus:h100", "nodes", "clusters", "volumes", "vlans", "spend:USD"]
)
def test_a_measure_is_kept_as_text_and_read_again(text: str) -> None:
    assert str(model.measure(text)) == text
    unused = {Measure(Kind.CLUSTERS), Measure(Kind.VOLUMES)}
    assert {TOTAL, gpus("h100"), NODES, VLANS, spend("USD")} | unused >= {model.measure(text)}


SCOPES = {Level.PROJECT: "p", Level.ORGANIZATION: "o", Level.TENANT: "t"}
MEASURES = (TOTAL, gpus("h100"), gpus("a100"), NODES, spend("USD"))


@st.composite
def ledgers(draw: st.DrawFn) -> list[Line]:
    where = st.tuples(st.sampled_from(list(SCOPES)), st.sampled_from(MEASURES))
    amounts = st.integers(0, 40)
    return [
        Line(level, SCOPES[level], measure, draw(amounts), draw(st.integers(0, 9)),
             draw(st.integers(0, 9)) if measure.kind is Kind.SPEND else 0)
        for level, measure in draw(st.sets(where, max_size=8))
    ]  # fmt: skip


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    whole = draw(st.booleans())
    count = 8 if whole else draw(st.integers(1, 4))
    price = draw(st.sampled_from((0, 1, 3)))
    project, family = draw(st.sampled_from("pq")), draw(st.sampled_from(("h100", "a100")))
    return Demand(
        TenantId("t"), OrganizationId("o"), ProjectId(project), family, count, int(whole), "USD",
        count * price,
    )  # fmt: skip


def counted(demand: Demand, line: Line) -> int:
    """How much of the line it takes, said once more and otherwise."""
    if line.scope_id not in (demand.project_id, demand.organization_id, demand.tenant_id):
        return 0
    measure = line.measure
    if measure.kind is Kind.GPUS:
        return demand.gpus if measure.family in ("", demand.family) else 0
    return demand.nodes if measure.kind is Kind.NODES else demand.micros_per_hour


@given(lines=ledgers(), asked=st.lists(demands(), max_size=12))
def test_a_batch_gets_all_that_fits_into_every_line_and_nothing_else(
    lines: list[Line], asked: list[Demand]
) -> None:
    ledger, given = Ledger(lines), list[Demand]()
    for demand in asked:
        left = [line.room - sum(counted(one, line) for one in given) for line in lines]
        takes = [counted(demand, line) for line in lines]
        fits = all(take == 0 or take <= room for take, room in zip(takes, left, strict=True))
        refused = ledger.refuse(demand)
        assert (refused is None) == fits
        if refused is None:
            ledger.take(demand)
            given.append(demand)
        else:
            assert refused.code == "quota_exceeded"
            extras = refused.extras
            named = next(
                at for at, line in enumerate(lines)
                if (line.scope_id, line.measure) == (extras["scope_id"], _measure(extras))
            )  # fmt: skip
            assert (extras["asked"], extras["left"]) == (takes[named], max(0, left[named]))
            assert takes[named] > left[named]
        assert ledger.never(demand) == any(
            take > (line.limit or 0) for take, line in zip(takes, lines, strict=True) if take
        )


def _measure(extras: "dict[str, Any] | Any") -> Measure:
    return Measure(extras["kind"], extras["family"] or "", extras["currency"] or "")
