"""A step that fails takes all before it back; what cannot be taken back yet is tried again."""

from pathlib import Path

import pytest

from penstock.central.onboardings import limits
from penstock.central.onboardings.model import STEPS
from penstock.central.onboardings.saga import STAGES
from penstock.central.quotas.model import TOTAL, Level, Scope, gpus
from penstock.kernel.actor import SYSTEM
from penstock_contracts import failpoints
from penstock_contracts.ids import TenantId

from .plane import Central, Json
from .stand_in_site import StandInSite
from .test_onboarding import FILE, onboard, pools, values
from .test_onboarding_again import STATE

pytestmark = pytest.mark.anyio


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "failpoints"
    folder.mkdir()
    monkeypatch.setenv(failpoints.FOLDER, str(folder))
    return folder


def steps(onboarding: Json) -> dict[str, str]:
    return {step["name"]: step["status"] for step in onboarding["steps"]}


def test_the_steps_are_those_of_the_model() -> None:
    assert tuple(STAGES) == STEPS


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_step_that_fails_leaves_nothing_behind(
    central: Central, site: StandInSite, points: Path, step: str, moment: str
) -> None:
    await pools(central)
    before = await central.value(STATE)
    (points / f"central.onboarding.{step}.do.{moment}").write_text("fail")
    undone = await onboard(central)
    assert undone["status"] == "undone"
    assert undone["reason"].startswith(f"{step}: ")
    at = STEPS.index(step)
    assert steps(undone) == {
        **dict.fromkeys(STEPS[:at], "undone"),
        step: "failed",
        **dict.fromkeys(STEPS[at + 1 :], "waiting"),
    }
    assert await central.value(STATE) == before
    assert await central.violations() == {}
    done = await onboard(central)
    assert done["status"] == "done", "the name is free, and so is what was taken from the pools"
    assert "vlan 100" in await values(central, "acme")


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS[:-1])
async def test_an_undo_that_fails_is_tried_again(
    central: Central, site: StandInSite, points: Path, step: str, moment: str
) -> None:
    await pools(central)
    before = await central.value(STATE)
    (points / "central.onboarding.ready.do.before").write_text("fail")
    (points / f"central.onboarding.{step}.undo.{moment}").write_text("fail")
    undone = await onboard(central)
    assert undone["status"] == "undone"
    assert (points / f"central.onboarding.{step}.undo.{moment}.hit").exists()
    assert await central.value(STATE) == before


async def test_a_pool_that_is_exhausted_undoes_it_and_says_so(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    before = await central.value(STATE)
    undone = await onboard(central, networks=[{"vlans": 11}])
    assert undone["status"] == "undone"
    assert "vlans (100-109) has 10 left" in undone["reason"]
    assert await central.value(STATE) == before
    assert (await central.platform.get("/v1/tenants/acme")).status == 404


async def test_a_change_that_fails_puts_back_what_it_changed_and_keeps_what_it_gave(
    central: Central, site: StandInSite, points: Path
) -> None:
    await pools(central)
    await onboard(central)
    limited = await _limits(central)
    (points / "central.onboarding.ready.do.before").write_text("fail")
    undone = await onboard(
        central,
        networks=[{**FILE["networks"][0], "vlans": 3}],
        placement={"strategy": "spread"},
        quotas=[{"gpus_max": 99}],
        organizations=[
            {"name": "research", "quotas": [{"gpus_max": 50}], "projects": [{"name": "llm"}]},
            {"name": "product"},
        ],
    )
    assert undone["status"] == "undone"
    assert await _limits(central) == limited
    assert (await central.platform.get("/v1/tenants/acme/placement")).json["strategy"] == "pack"
    assert (await central.platform.get("/v1/tenants/acme")).json["status"] == "active"
    assert "vlan 102" in await values(central, "acme"), "a host may speak with it already"
    assert (await central.platform.get("/v1/organizations/product")).status == 200


async def _limits(central: Central) -> list[Json]:
    return await central.rows("SELECT scope_id, family, most FROM quotas ORDER BY 1, 2")


async def test_a_limit_that_is_used_meanwhile_is_not_put_back(
    central: Central, site: StandInSite
) -> None:
    tenant = await central.tenant("acme", gpus_max=1)
    id = TenantId(tenant.id)
    scope = Scope(Level.TENANT, id, id)
    async with central.database.transaction() as tx:
        changes = await limits.bring(tx, SYSTEM, scope, {TOTAL: 8, gpus("h100"): 4})
    await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    async with central.database.transaction() as tx:
        detail = await limits.put_back(tx, SYSTEM, changes)
    assert "holds 2 GPUs now" in detail
    (left,) = await _limits(central)
    assert (left["family"], left["most"]) == ("", 8), "the other one, which was new, is gone"
    assert await central.violations() == {}


async def test_a_tenant_that_is_being_made_is_changed_by_nobody_else(
    central: Central, site: StandInSite
) -> None:
    tenant = await central.tenant("acme")
    await central.execute("UPDATE tenants SET status = 'onboarding'")
    credit = {"amount_micros": 1, "currency": "USD", "reason": "paid"}
    for path, body in (
        ("/v1/projects", {"name": "new", "tenant": tenant.id}),
        ("/v1/organizations", {"name": "new", "tenant": tenant.id}),
        ("/v1/users/invite", {"email": "a@b.example", "tenant": tenant.id}),
        ("/v1/allocations", {"project": tenant.project, "sku": "h100.slice", "gpus": 1}),
        (f"/v1/tenants/{tenant.id}/keys", {"name": "k", "role": "viewer"}),
        (f"/v1/tenants/{tenant.id}/credits", credit),
        (f"/v1/tenants/{tenant.id}/network", {"vlans": 1}),
    ):
        refused = await central.platform.post(path, **body)
        assert (refused.status, refused.code) == (403, "tenant_onboarding"), path
    for verb in ("suspend", "resume", "offboard"):
        refused = await central.platform.post(f"/v1/tenants/{tenant.id}/{verb}", reason="x")
        assert (refused.status, refused.code) == (409, "tenant_onboarding"), verb


async def test_what_the_file_names_and_there_is_not_is_refused_at_once(
    central: Central, site: StandInSite
) -> None:
    cases: dict[str, Json] = {
        "unknown_template": {"template": "nothing"},
        "unknown_site": {"networks": [{"site": "nowhere"}]},
        "unknown_sku": {"placement": {"skus": ["h900"]}},
        "unknown_family": {"quotas": [{"family": "h900", "gpus_max": 1}]},
    }
    for code, change in cases.items():
        refused = await central.platform.post("/v1/onboardings", **{**FILE, **change})
        assert (refused.status, refused.code) == (422, code)
    inner = [{"name": "o", "projects": [{"name": "p", "quotas": [{"family": "x", "gpus_max": 1}]}]}]
    refused = await central.platform.post("/v1/onboardings", **{**FILE, "organizations": inner})
    assert (refused.status, refused.code) == (422, "unknown_family")
    assert await central.value("SELECT count(*) FROM onboardings") == 0


async def test_a_family_above_the_total_is_refused_at_once_in_files_and_templates(
    central: Central, site: StandInSite
) -> None:
    h100 = {"family": "h100", "gpus_max": 5}
    over = [{"gpus_max": 4}, h100]
    inner = {"name": "p", "quotas": over}
    for change in (
        {"quotas": over},
        {"organizations": [{"name": "o", "quotas": over}]},
        {"organizations": [{"name": "o", "projects": [inner]}]},
    ):
        refused = await central.platform.post("/v1/onboardings", **{**FILE, **change})
        assert (refused.status, refused.code) == (422, "quota_above_parent"), change
    refused = await central.platform.put("/v1/templates/over", quotas=over)
    assert (refused.status, refused.code) == (422, "quota_above_parent")
    assert (await central.platform.put("/v1/templates/h100", quotas=[h100])).status == 200
    together = {"template": "h100", "quotas": [{"gpus_max": 4}]}
    refused = await central.platform.post("/v1/onboardings", **{**FILE, **together})
    assert (refused.status, refused.code) == (422, "quota_above_parent")
    assert await central.value("SELECT count(*) FROM onboardings") == 0


async def test_a_family_above_the_total_around_it_undoes_an_onboarding(
    central: Central, site: StandInSite
) -> None:
    await pools(central)
    quotas = [{"family": "h100", "gpus_max": 17}]
    inner = [{"name": "o", "quotas": quotas}]
    failed = await onboard(central, quotas=[{"gpus_max": 16}], organizations=inner)
    assert failed["status"] == "undone"
    assert "cannot be given 17 h100 GPUs" in failed["reason"]
    assert await central.value("SELECT count(*) FROM quotas") == 0
