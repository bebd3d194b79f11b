"""Central as it runs, with a site that says what the test wants."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock.central.events import CATALOGUE
from penstock.kernel import db
from penstock.kernel.db import Database
from penstock.local.postgres import EmbeddedPostgres
from penstock_contracts.membership import Member

from . import payloads, plane, raw_sql, site_plane, stand_in_site, wall_stage
from .plane import Central, Tenant
from .site_plane import SitePlane
from .stand_in_site import StandInSite
from .wall_stage import Wall


@pytest.fixture
async def central(central_url: str, tmp_path: Path) -> AsyncGenerator[Central, None]:
    """Every event that a test causes is as the catalogue says."""
    async with plane.running(central_url, tmp_path / "central") as started:
        yield started
        await payloads.check(started.database)


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
async def thief(central: Central, tmp_path: Path) -> Member:
    """A site of the platform, with every key in its folder."""
    return await stand_in_site.joined(central, tmp_path / "thief", "thief")


@pytest.fixture
async def victim(
    central: Central, site_url: str, tmp_path: Path
) -> AsyncGenerator[SitePlane, None]:
    async with site_plane.running(central, site_url, tmp_path / "victim", "victim") as site:
        yield site


@pytest.fixture
async def database(central_url: str) -> AsyncGenerator[Database, None]:
    """Central's database without a central."""
    opened = await db.connect(central_url, "central", catalogue=CATALOGUE)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
async def wall(
    server: EmbeddedPostgres, templates: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Wall, None]:
    """Two tenants with a row in every table. No test leaves anything behind."""
    folder = tmp_path_factory.mktemp("wall")
    server.create_database("wall", template=templates["central"])
    url = server.serving_url("central", "wall")
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=1) as site,
    ):
        await catalog(central)
        mine, theirs = await central.tenant("acme"), await central.tenant("other")
        await wall_stage.use(central, site, mine)
        await wall_stage.use(central, site, theirs, "other")
    async with wall_stage.session(url) as superuser:
        await superuser.execute("ANALYZE")
        tables = await raw_sql.tables(superuser, wall_stage.APP)
    yield Wall(url, mine.id, theirs.id, tables)
    server.drop_database("wall")
