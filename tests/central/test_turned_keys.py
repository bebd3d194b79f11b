"""Signing keys of a realm that several replicas serve: a key that leaked signs nothing more."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from penstock.central.realms.keys.service import Keyring
from penstock.kernel import sealing
from penstock.kernel.actor import SYSTEM
from penstock_contracts.ids import TenantId

from . import plane
from .plane import Json
from .realm_stage import CLI, Browser, Realm

pytestmark = pytest.mark.anyio
WAITS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@dataclass
class Two:
    """The same realm at two replicas, and someone who is in."""

    here: Realm
    there: Realm
    ann: Browser

    async def refresh(self, tokens: Json) -> httpx2.Response:
        """There, at the replica that remembers the key it signs with."""
        return await self.there.post(
            "token",
            grant_type="refresh_token",
            refresh_token=tokens["refresh_token"],
            client_id=CLI,
        )


@pytest.fixture
async def two(central_url: str, tmp_path: Path) -> AsyncGenerator[Two, None]:
    folder = tmp_path / "central"
    async with plane.running(central_url, folder) as first:
        here = Realm(first, await first.tenant("acme"), "acme")
        url = first.settings.url
        async with plane.running(central_url, folder, replica="b", public_url=url) as second:
            ann = await here.join("ann@acme.example")
            yield Two(here, Realm(second, here.tenant, "acme"), ann)
            await ann.client.aclose()


async def test_a_key_that_one_replica_distrusts_signs_nothing_at_another(two: Two) -> None:
    tokens = (await two.refresh(await two.here.device(two.ann))).json()
    assert (await two.there.api(tokens).get("/v1/me")).status == 200
    await two.here.tenant.admin.made("/v1/realm/rotate", distrust=True)
    assert (await two.there.api(tokens).get("/v1/me")).status == 401
    renewed = (await two.refresh(tokens)).json()
    for realm in (two.here, two.there):
        assert (await realm.api(renewed).get("/v1/me")).status == 200, "it was dead on arrival"


async def test_what_is_signed_while_a_key_is_turned_is_signed_by_the_new_one(two: Two) -> None:
    tokens = (await two.refresh(await two.here.device(two.ann))).json()
    central = two.here.central
    seal = sealing.load_or_create(central.settings.data / "seal.key")
    turning = Keyring(central.database, seal)
    async with central.database.transaction() as tx:
        await turning.rotate(tx, SYSTEM, TenantId(two.here.tenant.id), distrust=True)
        refreshing = asyncio.create_task(two.refresh(tokens))
        async with asyncio.timeout(20):
            while not await central.value(WAITS) and not refreshing.done():  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # of locks nobody tells
    renewed = (await refreshing).json()
    assert (await two.there.api(renewed).get("/v1/me")).status == 200
