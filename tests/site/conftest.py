"""One site per module, in this process: real engine, real database, a node that stands in."""

import itertools
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock.local.postgres import EmbeddedPostgres
from penstock.site import engine
from penstock_contracts import failpoints

# Found as any installed package is: by its metadata on the path.
sys.path.insert(0, str(Path(__file__).parent / "toy_package"))

from site_stage import SiteStage

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
async def stage(
    server: EmbeddedPostgres,
    templates: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncGenerator[SiteStage, None]:
    name = f"site_{next(_numbers)}_in_process"
    server.create_database(name, template=templates["site"])
    folder = tmp_path_factory.mktemp("failpoints")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(failpoints.FOLDER, str(folder))
        await engine.migrate(server.url(name))
        made = SiteStage(server.serving_url("site", name), folder)
        await made.start()
        yield made
        await made.stop()
    server.drop_database(name)
