"""A site that is missing for too long is away: nothing new goes there until it is back."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.central.sites import absence
from penstock.kernel.db import Tx

from . import plane, stand_in_site
from .conftest import catalog
from .plane import Central, Json, Tenant
from .stand_in_site import Node, StandInSite

pytestmark = pytest.mark.anyio

GRACE_S = 0.3


async def until(central: Central, type: str, times: int = 1) -> None:
    """Follow the log from its beginning until this happened so often."""
    api = central.platform
    headers = {**api.headers, "Last-Event-ID": "0"}
    async with (
        asyncio.timeout(15),
        api.client.stream("GET", "/v1/events", headers=headers) as stream,
    ):
        async for line in stream.aiter_lines():
            times -= line == f"event: {type}"
            if not times:
                return


async def dial(site: StandInSite) -> "asyncio.Task[None]":
    return asyncio.create_task(site.member.dial(site, site))


async def hang_up(dialling: "asyncio.Task[None]") -> None:
    dialling.cancel()
    with suppress(asyncio.CancelledError):
        await dialling


async def joined(central: Central, folder: Path) -> StandInSite:
    member = await stand_in_site.joined(central, folder, "site-a")
    return StandInSite(member.id, member)


async def ask(tenant: Tenant, project: str = "main") -> plane.Answer:
    return await tenant.member.post("/v1/allocations", project=project, sku="h100.slice", gpus=1)


async def seen(central: Central, node: Node) -> Json:
    return (await central.platform.get(f"/v1/nodes/{node.id}")).json


async def test_a_missing_site_is_away_after_the_grace_and_back_when_it_dials(
    central_url: str, tmp_path: Path
) -> None:
    async with plane.running(central_url, tmp_path / "central", site_grace_s=GRACE_S) as central:
        await catalog(central)
        tenant = await central.tenant("acme")
        site = await joined(central, tmp_path / "site")
        dialling = await dial(site)
        node = await site.add(Node("n"))
        assert (await ask(tenant)).status == 201
        unknown = await ask(tenant, project="nothing")
        assert unknown.status == 404, "and now the fleet in memory has read the log to the end"
        await hang_up(dialling)
        await until(central, "site.away")
        refused = await ask(tenant)
        assert (refused.status, refused.code) == (409, "sku_unavailable")
        explanation = refused.json["explanation"]
        assert explanation["rejections"]["schedulable"] == 1
        assert explanation["near"][0]["why"] == "its site is not connected"
        assert "never" not in explanation
        shown = await seen(central, node)
        assert (shown["posture"], shown["posture_reason"]) == (
            "unavailable",
            "its site is not connected",
        )
        assert (await central.platform.get(f"/v1/sites/{site.id}")).json["away"]
        dialling = await dial(site)
        await until(central, "site.connected", times=2)
        assert (await seen(central, node))["posture"] == "partially_allocated"
        assert (await ask(tenant)).status == 201
        assert not (await central.platform.get(f"/v1/sites/{site.id}")).json["away"]
        await hang_up(dialling)


async def test_a_site_that_is_missing_within_the_grace_takes_leases(
    central: Central, tenant: Tenant, tmp_path: Path
) -> None:
    await catalog(central)
    async with stand_in_site.connected(central, tmp_path / "site", nodes=1):
        pass
    await until(central, "site.disconnected")
    assert (await ask(tenant)).status == 201, "it is told when it is back"


async def mark(central: Central, grace_s: float, watched_for_s: float) -> float | None:
    """What a watcher decides that began so long ago, under a clock of the database."""

    async def work(tx: Tx) -> float | None:
        since = tx.now - timedelta(seconds=watched_for_s)
        return await absence.mark(tx, since, timedelta(seconds=grace_s))

    return await central.database.run(work)


async def test_the_grace_begins_no_earlier_than_the_watch(central: Central, tmp_path: Path) -> None:
    """Central was away for an hour: its sites need time to dial, and are not away at once."""
    assert await mark(central, 60, 3600) is None, "nobody is missing"
    async with stand_in_site.connected(central, tmp_path / "site", nodes=1) as site:
        assert await mark(central, 60, 3600) is None
    await until(central, "site.disconnected")
    await central.platform.made("/v1/sites", name="new")
    await central.execute("UPDATE sites SET connected_at = connected_at - interval '1 hour'")
    left_s = await mark(central, 60, 20)
    assert left_s == pytest.approx(40, abs=1)
    assert await central.value("SELECT count(*) FROM sites WHERE away") == 0
    assert await mark(central, 60, 61) == 0.0
    away = await central.rows("SELECT id FROM sites WHERE away")
    assert away == [{"id": site.id}], "a site that never joined is not away, it is new"
    assert await mark(central, 60, 61) is None
    assert await central.value("SELECT count(*) FROM events WHERE type = 'site.away'") == 1
