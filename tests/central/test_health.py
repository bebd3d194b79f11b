"""Health and readiness tell the truth, also about a database that went away."""

import asyncio
from pathlib import Path

import asyncpg
import httpx2
import pytest
from logins import superuser_url

from penstock.kernel import migrations
from penstock.local import postgres

from . import plane
from .plane import Central

pytestmark = pytest.mark.anyio

CENTRAL_LOOPS = {
    "stalls", "wakeups", "placement", "denials", "policies", "audit export", "absence", "backlog",
    "backlog deadlines", "following", "onboardings", "offboardings", "sweeping",
}  # fmt: skip


async def test_readiness_follows_the_database_and_health_does_not(tmp_path: Path) -> None:
    with postgres.temporary({"fsync": "off"}) as server:
        url = server.serving_url("central")
        await migrations.migrate(server.url("central"), "central")
        async with plane.running(url, tmp_path) as central:
            nobody = central.caller(None)
            assert (await nobody.get("/readyz")).status == 200
            socket = server.url("central")
            server.kill()
            away = await nobody.get("/readyz")
            assert (away.status, away.json["status"]) == (503, "not ready")
            assert "database" in away.json["failed"]
            assert (await nobody.get("/healthz")).status == 200
            asked = await central.platform.get("/v1/me")
            assert (asked.status, asked.code) == (503, "unavailable")
            assert asked.headers["retry-after"].isdigit()
            server.start()
            assert server.url("central") == socket
            async with asyncio.timeout(10):
                while (await nobody.get("/readyz")).status != 200:
                    pass
            assert (await central.platform.get("/v1/me")).status == 200


async def test_the_operators_listener_shows_metrics_and_the_api_shows_them_to_the_platform(
    central: Central,
) -> None:
    await central.platform.get("/v1/tenants")
    shown = (await central.platform.get("/metrics")).raw.decode()
    assert 'penstock_http_request_seconds_count{method="GET",route="/v1/tenants",status="200"}' in (
        shown
    )
    base = f"http://{central.settings.metrics_listen}"
    async with httpx2.AsyncClient(base_url=base, trust_env=False) as operators:
        assert (await operators.get("/metrics")).status_code == 200
        assert (await operators.get("/readyz")).json()["status"] == "ready"
        assert (await operators.get("/healthz")).json()["status"] == "alive"


async def test_every_loop_of_a_replica_is_shown_with_how_it_went(central: Central) -> None:
    async with asyncio.timeout(20):
        while True:
            shown = {loop["name"]: loop for loop in (await central.platform.get("/v1/loops")).items}
            if all(loop["outcome"] == "ok" for loop in shown.values()):
                break
    assert set(shown) >= CENTRAL_LOOPS
    for loop in shown.values():
        assert (loop["plane"], loop["replica"]) == ("central", central.settings.replica)
        assert loop["description"].endswith(".")
        assert (loop["error"], loop["failures"]) == ("", 0)
    told = shown["onboardings"]
    assert told["runs"] >= 1
    assert told["last_ended_at"] >= told["last_began_at"]
    assert told["last_seconds"] >= 0
    assert not told["running"]
    assert shown["placement"]["running"]
    assert shown["placement"]["last_ended_at"] is None
    metrics = (await central.platform.get("/metrics")).raw.decode()
    assert 'penstock_loop_runs_total{loop="sweeping",outcome="ok"}' in metrics
    base = f"http://{central.settings.metrics_listen}"
    async with httpx2.AsyncClient(base_url=base, trust_env=False) as operators:
        items = (await operators.get("/loops")).json()["items"]
    assert {item["name"] for item in items} == set(shown)


async def test_invariants_are_listed_by_name_and_count_what_is_broken(
    central: Central, central_url: str
) -> None:
    listed = {
        i["name"]: i["violations"] for i in (await central.platform.get("/v1/invariants")).items
    }
    assert {
        "audit_chain", "feed_rejections", "slot_claimed_twice", "allocation_on_two_nodes",
        "freed_without_proof", "slice_beside_baremetal", "claims_of_wrong_size",
        "freed_out_of_step", "usage_out_of_step",
    } <= listed.keys()  # fmt: skip
    assert set(listed.values()) == {0}
    await central.tenant("acme")
    superuser = await asyncpg.connect(superuser_url(central_url))
    await superuser.execute("UPDATE audit_entries SET actor = 'mallory' WHERE seq = 1")
    await superuser.close()
    # The exporter may have noticed it by now, too.
    assert (await central.violations()).keys() - {"audit_export"} == {"audit_chain"}
