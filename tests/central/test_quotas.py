"""Quotas: which limits can be set, and that a lease fits into every line above it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.central.quotas import rules
from penstock.central.quotas.ledger import Demand, Ledger
from penstock.central.quotas.model import TOTAL, Level, Limit, Line, Measure, Scope, gpus
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId

from .plane import Answer, Api, Central, Json, Tenant
from .stand_in_site import Node, StandInSite

LEASE = {"project": "main", "sku": "h100.slice"}


async def put(api: Api, gpus_max: int, **which: str) -> Answer:
    return await api.put("/v1/quotas", gpus_max=gpus_max, **which)


async def allowed(api: Api, gpus_max: int, **which: str) -> Json:
    answer = await put(api, gpus_max, **which)
    assert answer.status == 200, answer.json
    assert answer.json["gpus_max"] == gpus_max
    return answer.json


async def lines(api: Api, **which: str) -> dict[str | None, tuple[int | None, int]]:
    listed = (await api.get("/v1/quotas", **which)).items
    return {line["family"]: (line["gpus_max"], line["gpus_used"]) for line in listed}


@pytest.mark.anyio
async def test_every_level_shows_its_limits_and_what_is_used(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await tenant.admin.made("/v1/organizations", name="research")
    await tenant.admin.made("/v1/projects", name="other", organization="research")
    await allowed(central.platform, 8, tenant=tenant.id)
    await allowed(tenant.admin, 6, organization="default", family="h100")
    await allowed(tenant.admin, 0, project="other")
    await tenant.member.made("/v1/allocations", **LEASE, gpus=2)
    assert await lines(tenant.viewer) == {None: (8, 2), "h100": (None, 2)}
    assert await lines(central.platform, tenant=tenant.id) == await lines(tenant.viewer)
    default = {None: (None, 2), "h100": (6, 2)}
    assert await lines(tenant.viewer, organization="default") == default
    assert await lines(tenant.viewer, project="main") == {None: (None, 2), "h100": (None, 2)}
    assert await lines(tenant.viewer, project="other") == {None: (0, 0)}
    assert await lines(tenant.viewer, organization="research") == {None: (None, 0)}


@pytest.mark.anyio
async def test_a_limit_stays_between_its_parents_and_its_children(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    admin, platform = tenant.admin, central.platform
    await admin.made("/v1/organizations", name="research")
    await admin.made("/v1/projects", name="lab", organization="research")
    await allowed(platform, 8, tenant=tenant.id)
    over = await put(admin, 9, organization="research")
    assert (over.status, over.code) == (409, "quota_above_parent")
    assert (over.json["scope"], over.json["limit"]) == ("tenant", 8)
    over = await put(admin, 9, project="lab")
    assert over.code == "quota_above_parent", "also where no organization is in between"
    await allowed(admin, 4, organization="research")
    over = await put(admin, 5, project="lab")
    assert (over.code, over.json["scope"]) == ("quota_above_parent", "organization")
    await allowed(admin, 5, project="main")  # in another organization
    await allowed(admin, 3, project="lab")
    under = await put(admin, 2, organization="research")
    assert (under.status, under.code) == (409, "quota_below_child")
    assert (under.json["scope"], under.json["limit"]) == ("project", 3)
    under = await put(platform, 4, tenant=tenant.id)
    assert (under.code, under.json["limit"]) == ("quota_below_child", 5)
    await allowed(admin, 3, organization="research")
    await allowed(platform, 5, tenant=tenant.id)
    assert await central.violations() == {}


@pytest.mark.anyio
async def test_a_family_is_never_given_more_than_all_families_together(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    admin, platform = tenant.admin, central.platform
    await admin.made("/v1/organizations", name="research")
    await admin.made("/v1/projects", name="lab", organization="research")
    await allowed(platform, 8, tenant=tenant.id)
    for api, which in (
        (platform, {"tenant": tenant.id}),
        (admin, {"organization": "research"}),
        (admin, {"project": "lab"}),
    ):
        over = await put(api, 9, **which, family="h100")
        assert (over.status, over.code) == (409, "quota_above_parent")
        said = {key: over.json[key] for key in ("scope", "scope_id", "family", "limit")}
        assert said == {"scope": "tenant", "scope_id": tenant.id, "family": None, "limit": 8}
    await allowed(admin, 7, organization="research", family="h100")
    await allowed(admin, 6, project="lab", family="h100")
    under = await put(platform, 6, tenant=tenant.id)
    assert (under.status, under.code) == (409, "quota_below_child")
    said = {key: under.json[key] for key in ("scope", "family", "limit")}
    assert said == {"scope": "organization", "family": "h100", "limit": 7}
    for project_or_organization, most in (
        ({"organization": "research"}, 6),
        ({"project": "lab"}, 5),
    ):
        under = await put(admin, most, **project_or_organization)
        assert under.code == "quota_below_child", "its own family is more"
    await allowed(admin, 6, project="lab")
    over = await put(admin, 7, project="lab", family="h100")
    assert (over.code, over.json["scope"], over.json["family"]) == (
        "quota_above_parent", "project", None,
    )  # fmt: skip
    assert "it cannot be given 7 h100 GPUs" in over.json["detail"]
    await allowed(platform, 7, tenant=tenant.id)
    await allowed(platform, 7, tenant=tenant.id, family="h100")
    await allowed(admin, 7, organization="research")
    assert await central.violations() == {}


SCOPES = [
    Scope(Level.TENANT, "t", TenantId("t")),
    Scope(Level.ORGANIZATION, "o", TenantId("t"), OrganizationId("o")),
    Scope(Level.ORGANIZATION, "o2", TenantId("t"), OrganizationId("o2")),
    Scope(Level.PROJECT, "p", TenantId("t"), OrganizationId("o")),
    Scope(Level.PROJECT, "p2", TenantId("t"), OrganizationId("o2")),
]
LIMITS = st.builds(
    Limit,
    st.sampled_from(SCOPES),
    st.sampled_from([TOTAL, gpus("h100"), gpus("a100")]),
    st.integers(0, 4),
)


@given(st.lists(LIMITS, max_size=30))
def test_whatever_is_set_in_whatever_order_no_limit_is_above_one_that_bounds_it(
    wanted: list[Limit],
) -> None:
    there: dict[tuple[Scope, Measure], Limit] = {}
    for limit in wanted:
        others = list(there.values())
        if rules.refusal(limit, 0, others) is None:
            there[limit.scope, limit.measure] = limit
        else:
            assert any(
                (o.bounds(limit) and o.most < limit.most)
                or (limit.bounds(o) and limit.most < o.most)
                for o in others
            ), "refused for nothing"
    for one in there.values():
        for scope in SCOPES:
            around = one.scope == scope or one.scope.within(scope)
            for measure in {TOTAL, one.measure} if around else ():
                bound = there.get((scope, measure))
                assert bound is None or one.most <= bound.most or bound == one


@pytest.mark.anyio
async def test_a_limit_below_what_is_used_is_refused_and_says_how_much_is(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", **LEASE, gpus=2)
    for api, which in (
        (central.platform, {"tenant": tenant.id}),
        (central.platform, {"tenant": tenant.id, "family": "h100"}),
        (tenant.admin, {"organization": "default"}),
        (tenant.admin, {"project": "main", "family": "h100"}),
    ):
        refused = await put(api, 1, **which)
        assert (refused.status, refused.code) == (409, "quota_below_use")
        assert refused.json["used"] == 2
        await allowed(api, 2, **which)
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    assert (await put(tenant.admin, 0, project="main")).code == "quota_below_use", "still cleaned"
    await site.clean(await site.order(lease, revision=2))
    await allowed(tenant.admin, 0, project="main", family="h100")
    await allowed(tenant.admin, 0, project="main")


@pytest.mark.anyio
async def test_a_removed_limit_is_gone_and_removing_it_again_changes_nothing(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await allowed(tenant.admin, 0, project="main", family="h100")
    assert (await tenant.member.post("/v1/allocations", **LEASE)).code == "quota_exceeded"
    for _ in range(2):
        answer = await tenant.admin.delete("/v1/quotas", project="main", family="h100")
        assert (answer.status, answer.json["gpus_max"]) == (200, None)
    await tenant.member.made("/v1/allocations", **LEASE)
    told = await central.rows(
        "SELECT type, data FROM events WHERE type LIKE 'quota.%' ORDER BY seq"
    )
    assert [event["type"] for event in told] == ["quota.set", "quota.removed"]
    written = await central.rows(
        "SELECT action, detail FROM audit_entries WHERE action LIKE 'quota.%' ORDER BY seq"
    )
    assert [(entry["action"], entry["detail"]) for entry in written] == [
        ("quota.set", {"family": "h100", "gpus_max": 0, "before": {"gpus_max": None}}),
        ("quota.remove", {"family": "h100", "gpus_max": None, "before": {"gpus_max": 0}}),
    ]


@pytest.mark.anyio
async def test_the_refusal_of_a_lease_names_the_line_that_has_the_least_room(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await allowed(central.platform, 7, tenant=tenant.id)
    await allowed(tenant.admin, 3, organization="default", family="h100")
    await tenant.member.made("/v1/allocations", **LEASE, gpus=2)
    refused = await tenant.member.post("/v1/allocations", **LEASE, gpus=2)
    assert (refused.status, refused.code) == (409, "quota_exceeded")
    said = {key: refused.json[key] for key in ("scope", "family", "limit", "used", "asked")}
    assert said == {"scope": "organization", "family": "h100", "limit": 3, "used": 2, "asked": 2}
    assert refused.json["scope_id"].startswith("org_")
    assert "ask for 1 or fewer" in refused.json["suggestion"]
    await tenant.member.made("/v1/allocations", **LEASE, gpus=1)


@pytest.mark.anyio
async def test_families_are_limited_apart_and_together(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await site.add(Node("a100-node", family="a100"))
    await central.platform.made(
        "/v1/skus", name="a100.slice", shape="gpu_slice", family="a100", gpu_counts=[1, 2, 4],
        price_micros_per_gpu_hour=1,
    )  # fmt: skip
    await allowed(tenant.admin, 5, project="main")
    await allowed(tenant.admin, 4, project="main", family="h100")
    await allowed(tenant.admin, 2, project="main", family="a100")

    async def code(sku: str, gpus: int) -> str:
        body = {"project": "main", "sku": sku, "gpus": gpus}
        answer = await tenant.member.post("/v1/allocations", **body)
        return "placed" if answer.status == 201 else f"{answer.code} of {answer.json['family']}"

    assert await code("a100.slice", 4) == "quota_exceeded of a100"
    assert await code("h100.slice", 4) == "placed"
    assert await code("h100.slice", 1) == "quota_exceeded of h100"
    assert await code("a100.slice", 2) == "quota_exceeded of None"
    assert await code("a100.slice", 1) == "placed"
    assert await lines(tenant.viewer, project="main") == {
        None: (5, 5), "a100": (2, 1), "h100": (4, 4),
    }  # fmt: skip
    assert await central.violations() == {}


DEMAND = Demand(TenantId("t"), OrganizationId("o"), ProjectId("p"), "h100", 2)
ANOTHER = Demand(TenantId("t"), OrganizationId("o"), ProjectId("q"), "a100", 2)


@pytest.mark.parametrize(
    ("level", "scope_id", "measure", "counts_another"),
    [
        (Level.TENANT, "t", TOTAL, True),
        (Level.TENANT, "t", gpus("h100"), False),
        (Level.ORGANIZATION, "o", TOTAL, True),
        (Level.ORGANIZATION, "o", gpus("h100"), False),
        (Level.PROJECT, "p", TOTAL, False),
        (Level.PROJECT, "p", gpus("h100"), False),
    ],
)
def test_every_line_alone_holds_a_batch_to_its_limit(
    level: Level, scope_id: str, measure: Measure, counts_another: bool
) -> None:
    ledger = Ledger([Line(level, scope_id, measure, 5, 1)])
    assert ledger.refuse(DEMAND) is None
    ledger.take(DEMAND)
    assert ledger.refuse(DEMAND) is None, "exactly full is within the limit"
    ledger.take(ANOTHER)
    refused = ledger.refuse(DEMAND)
    assert (refused is not None) == counts_another
    ledger.take(DEMAND)
    refused = ledger.refuse(DEMAND)
    assert refused is not None
    used = 7 if counts_another else 5
    assert (refused.extras["used"], refused.extras["limit"]) == (used, 5)
    assert ledger.refuse(ANOTHER) is None or counts_another


def test_what_has_no_line_is_never_refused() -> None:
    ledger = Ledger([Line(Level.PROJECT, "another", TOTAL, 0, 0)])
    ledger.take(DEMAND)
    assert ledger.refuse(DEMAND) is None
