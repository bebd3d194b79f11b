"""What ran out goes; what still protects something, or somebody may ask for, stays."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.central import sweeping
from penstock.central.sweeping import Sweeper

from . import plane
from .plane import Central
from .realm_stage import CLI, Browser, Pkce, Realm

pytestmark = pytest.mark.anyio
TABLES = (
    "device_codes", "authorization_codes", "refresh_tokens", "revoked_tokens", "sessions",
    "invitations", "idempotency_keys",
)  # fmt: skip


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join("ann@acme.example")
    yield browser
    await browser.client.aclose()


def sweeper(realm: Realm) -> Sweeper:
    return Sweeper(realm.central.database, 60, timedelta(days=7))


async def age(realm: Realm, table: str, column: str, by: str, where: str = "true") -> None:
    """Let it be that much longer ago."""
    sql = f"UPDATE {table} SET {column} = {column} - interval '{by}' WHERE {where}"
    await plane.as_superuser(realm.central.settings.database_url, sql)


async def counts(realm: Realm) -> dict[str, int]:
    return {t: await realm.central.value(f"SELECT count(*) FROM {t}") for t in TABLES}


async def use(realm: Realm, ann: Browser) -> None:
    """One of everything that a realm writes."""
    client = await realm.client()
    tokens = await realm.tokens(ann, client, scope="openid use offline_access")
    await realm.code(ann, client["id"], Pkce())
    device = await realm.device(ann)
    await realm.post("token", grant_type="refresh_token", client_id=CLI,
                     refresh_token=device["refresh_token"])  # fmt: skip
    basic = (client["id"], client["secret"])
    await realm.post("revoke", basic, token=tokens["access_token"])
    assert (await realm.tenant.admin.post_once("k", "/v1/projects", name="p")).status == 201


async def test_nothing_goes_that_is_still_good_for_something(realm: Realm, ann: Browser) -> None:
    await use(realm, ann)
    before = await counts(realm)
    assert min(before.values()) > 0, before
    assert await sweeper(realm).sweep() == {}
    assert await counts(realm) == before


async def test_all_of_it_goes_in_time(realm: Realm, ann: Browser) -> None:
    await use(realm, ann)
    for table in ("device_codes", "authorization_codes", "revoked_tokens"):
        await age(realm, table, "expires_at", "1 hour")
    before = await counts(realm)
    gone = await sweeper(realm).sweep()
    # Two codes were used, and the sessions that they began live on: replayed, they end those.
    assert gone == {"device_codes": 1, "authorization_codes": 1, "revoked_tokens": 1}
    await age(realm, "sessions", "expires_at", "91 days")
    assert set(await sweeper(realm).sweep()) == {"authorization_codes", "refresh_tokens"}
    assert (await counts(realm))["sessions"] == before["sessions"], "kept for whoever asks"
    await age(realm, "sessions", "expires_at", "31 days")
    await age(realm, "invitations", "accepted_at", "31 days")
    await age(realm, "idempotency_keys", "created_at", "8 days")
    for _ in range(2):  # a browser's session goes after those that came from it
        await sweeper(realm).sweep()
    assert set((await counts(realm)).values()) == {0}
    assert not await realm.central.violations()


async def test_a_spent_refresh_token_ends_its_session_however_old_it_is(
    realm: Realm, ann: Browser
) -> None:
    first = await realm.device(ann)
    form = {"grant_type": "refresh_token", "client_id": CLI}
    second = (await realm.post("token", **form, refresh_token=first["refresh_token"])).json()
    await age(realm, "refresh_tokens", "expires_at", "20 days", "used_at IS NOT NULL")
    await age(realm, "device_codes", "expires_at", "20 days")
    assert await sweeper(realm).sweep() == {"device_codes": 1}
    assert (await realm.post("token", **form, refresh_token=first["refresh_token"])).is_error
    assert (await realm.api(second).get("/v1/me")).status == 401
    assert (await realm.post("token", **form, refresh_token=second["refresh_token"])).is_error
    assert await sweeper(realm).sweep() == {"refresh_tokens": 2}
    assert (await realm.post("token", **form, refresh_token=second["refresh_token"])).is_error


async def test_a_revoked_token_stays_revoked_until_it_runs_out(realm: Realm, ann: Browser) -> None:
    client = await realm.client()
    tokens = await realm.tokens(ann, client)
    basic = (client["id"], client["secret"])
    await realm.post("revoke", basic, token=tokens["access_token"])
    assert await sweeper(realm).sweep() == {}
    assert (await realm.api(tokens).get("/v1/me")).status == 401


async def test_a_device_that_asks_too_late_is_told_so(realm: Realm) -> None:
    started = (await realm.post("device_authorization", client_id=CLI)).json()
    await age(realm, "device_codes", "expires_at", "11 minutes")
    assert await sweeper(realm).sweep() == {}
    assert (await realm.poll(started)).json()["error"] == "expired_token"


async def test_a_key_of_long_ago_is_a_new_one(realm: Realm) -> None:
    admin = realm.tenant.admin
    assert (await admin.post_once("k", "/v1/projects", name="one")).status == 201
    again = await admin.post_once("k", "/v1/projects", name="one")
    assert again.headers["idempotency-replayed"] == "true"
    await age(realm, "idempotency_keys", "created_at", "8 days")
    assert await sweeper(realm).sweep() == {"idempotency_keys": 1}
    assert (await admin.post_once("k", "/v1/projects", name="two")).status == 201


async def test_much_goes_in_batches(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "BATCH", 3)
    for _ in range(10):
        await realm.post("device_authorization", client_id=CLI)
    await age(realm, "device_codes", "expires_at", "1 hour")
    assert await sweeper(realm).sweep() == {"device_codes": 10}


async def test_even_the_system_deletes_nothing_that_lives(realm: Realm, ann: Browser) -> None:
    await use(realm, ann)
    before = await counts(realm)
    await realm.central.execute("DELETE FROM refresh_tokens")
    await realm.central.execute("DELETE FROM authorization_codes")
    await realm.central.execute("DELETE FROM device_codes")
    await realm.central.execute("DELETE FROM revoked_tokens")
    await realm.central.execute("DELETE FROM sessions")
    assert await counts(realm) == before


async def test_central_sweeps_by_itself_one_replica_at_a_time(
    central_url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "central"
    changes = {"sweep_every_s": 0.1}
    async with (
        plane.running(central_url, folder, **changes) as central,
        plane.running(central_url, folder, replica="b", **changes),
    ):
        realm = Realm(central, await central.tenant("acme"), "acme")
        leading = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1"
        assert await central.value(f"{leading} AND granted", sweeping.LOCK) == 1
        await realm.post("device_authorization", client_id=CLI)
        await age(realm, "device_codes", "expires_at", "1 hour")
        async with asyncio.timeout(20):
            while await central.value("SELECT count(*) FROM device_codes"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # nobody is told of what nobody misses
