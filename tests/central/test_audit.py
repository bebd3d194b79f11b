"""Reading the audit log: whose it is, what is in it, what was before."""

from datetime import UTC, datetime, timedelta

import pytest

from . import plane, waiting
from .plane import Api, Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


async def every(api: Api, **query: object) -> list[Json]:
    """All pages."""
    items: list[Json] = []
    cursor: dict[str, object] = {}
    while True:
        page = (await api.get("/v1/audit", **query, **cursor)).json
        items += page["items"]
        if page["next"] is None:
            return items
        cursor = {"cursor": page["next"]}


async def test_a_tenants_admin_sees_its_own_and_the_platform_sees_all(
    central: Central, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    own = await every(tenant.admin)
    assert {entry["tenant"] for entry in own} == {tenant.id}
    assert {entry["action"] for entry in own} == {
        "tenant.create", "organization.create", "key.create", "project.create",
    }  # fmt: skip
    everything = await every(central.platform)
    assert {entry["tenant"] for entry in everything} == {tenant.id, other.id, None}
    assert await every(tenant.admin, tenant=other.id) == []
    theirs = await every(central.platform, tenant=other.id)
    assert {entry["tenant"] for entry in theirs} == {other.id}


async def test_a_central_exports_and_is_held_to_it(central: Central, tenant: Tenant) -> None:
    level = "SELECT x.seq FROM audit_exports x JOIN audit_head h USING (seq) WHERE h.seq > 0"
    url = central.settings.database_url
    assert await waiting.until(url, "audit.exported", lambda: central.value(level))
    await central.execute("UPDATE audit_exports SET seq = 0")
    assert await central.violations() == {}, "an entry has ten minutes"
    await plane.as_superuser(url, "UPDATE audit_entries SET at = at - interval '11 minutes'")
    assert "audit_export" not in await central.violations(), "central has just begun"
    await plane.as_superuser(
        url, "UPDATE audit_exports SET begun_at = begun_at - interval '11 minutes'"
    )
    assert (await central.violations())["audit_export"] == 1


async def test_pages_follow_each_other_in_either_order(central: Central, tenant: Tenant) -> None:
    count = await central.value("SELECT count(*) FROM audit_entries")
    newest = [entry["seq"] for entry in await every(central.platform, limit=2)]
    assert newest == list(range(count, 0, -1))
    oldest = [entry["seq"] for entry in await every(central.platform, limit=3, order="oldest")]
    assert oldest == list(range(1, count + 1))


async def test_entries_are_found_by_actor_action_subject_and_time(
    central: Central, tenant: Tenant
) -> None:
    actor = f"key:{(await tenant.admin.get('/v1/me')).json['id']}"
    (made,) = await every(central.platform, actor=actor)
    assert (made["action"], made["subject"]) == ("project.create", tenant.project)
    assert await every(central.platform, action="project.create") == [made]
    assert await every(central.platform, subject=tenant.project) == [made]
    assert await every(central.platform, actor=actor, action="key.create") == []
    at = made["at"]
    assert made in await every(central.platform, since=at)
    assert made not in await every(central.platform, until=at)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert await every(central.platform, since=tomorrow) == []


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"}, {"since": "2026-01-01T00:00:00"}, {"order": "random"},
        {"cursor": "bm90IGEgbnVtYmVy"}, {"cursor": "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA="},
        {"actor": "x" * 501}, {"limit": 0}, {"colour": "red"}, {"action": "a\x00"},
    ],
    ids=str,
)  # fmt: skip
async def test_a_question_that_makes_no_sense_is_refused(
    central: Central, query: dict[str, object]
) -> None:
    assert (await central.platform.get("/v1/audit", **query)).code == "invalid"


async def test_a_change_says_what_was_before(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    api = central.platform
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    node = f"/v1/nodes/{lease['node']}"
    await api.send("PATCH", node, json={"tags": ["fast"], "leaf": "leaf-1"})
    await api.send("PATCH", node, json={"tags": ["slow"], "leaf": "leaf-2"})
    await api.post(f"{node}/drain", reason="disk")
    await api.post(f"{node}/undrain")
    await api.send("PATCH", f"/v1/sites/{site.id}", json={"tags": ["eu"]})
    await api.put(f"/v1/tenants/{tenant.id}/placement", strategy="spread")
    await api.put("/v1/quotas", tenant=tenant.id, gpus_max=8)
    await api.put("/v1/quotas", tenant=tenant.id, gpus_max=9)
    await tenant.member.post(f"/v1/allocations/{lease['id']}/release")
    last = {entry["action"]: entry["detail"] for entry in await every(api, order="oldest")}
    before = {action: detail.get("before") for action, detail in last.items()}
    assert before["node.update"] == {"tags": ["fast"], "leaf_assigned": "leaf-1"}
    assert (last["node.drain"]["draining"], before["node.drain"]["draining"]) == (True, False)
    assert before["node.undrain"] == {"draining": True, "drain_reason": "disk"}
    assert before["site.update"] == {"tags": []}
    assert (last["policy.set"]["strategy"], before["policy.set"]["strategy"]) == ("spread", "pack")
    assert (last["quota.set"]["gpus_max"], before["quota.set"]) == (9, {"gpus_max": 8})
    assert last["allocation.release"]["desired"] == "released"
    assert before["allocation.release"] == {"desired": "active"}
    assert before["slot.approve"] == {"state": "proposed"}
    assert before["site.enrol"] == {"key": None}
    made = {action for action in last if action.endswith(("create", "credit"))}
    assert {action for action, was in before.items() if was is None} == made | {
        "site.token_create", "site.node_tokens_create",
    } & last.keys()  # fmt: skip
