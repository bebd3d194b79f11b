"""Central as it runs, with a site that says what the test wants."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock.kernel import db
from penstock.kernel.db import Database

from . import plane, stand_in_site
from .plane import Central, Tenant
from .stand_in_site import StandInSite


@pytest.fixture
async def central(central_url: str, tmp_path: Path) -> AsyncGenerator[Central, None]:
    async with plane.running(central_url, tmp_path / "central") as started:
        yield started


@pytest.fixture
async def site(central: Central, tmp_path: Path) -> AsyncGenerator[StandInSite, None]:
    """A connected site with one node of 8 H100s, approved; a SKU for each shape."""
    async with stand_in_site.connected(central, tmp_path / "site", nodes=1) as joined:
        await catalog(central)
        yield joined


@pytest.fixture
async def tenant(central: Central) -> Tenant:
    return await central.tenant("acme")


async def catalog(central: Central) -> None:
    for name, shape, counts in (
        ("h100.slice", "gpu_slice", [1, 2, 4]),
        ("h100.metal", "baremetal", [8]),
    ):
        await central.platform.made(
            "/v1/skus", name=name, shape=shape, family="h100", gpu_counts=counts,
            price_micros_per_gpu_hour=3_600_000,
        )  # fmt: skip


@pytest.fixture
async def central_database(central_url: str) -> AsyncGenerator[Database, None]:
    """Central's database without a central."""
    database = await db.connect(central_url, "central", size=4)
    yield database
    await database.close()
