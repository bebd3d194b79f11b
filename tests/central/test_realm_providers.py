"""The realm drivers that come with central keep the rules of their protocol.

Keycloak is emulated, unless PENSTOCK_TEST_KEYCLOAK names the address of a real one (and
PENSTOCK_TEST_KEYCLOAK_SECRET_FILE the file with the secret of its client `penstock`, a service
account of the master realm with the role `admin`): then the suite runs against that one too.
"""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock_contracts.conformance.realm import RealmConformance
from penstock_contracts.conformance.realm_stage import RealmStage

from . import plane, realm_hosts


class TestEmbedded(RealmConformance):
    name = "embedded"

    @pytest.fixture
    async def stage(self, central_url: str, tmp_path: Path) -> AsyncGenerator[RealmStage, None]:
        async with (
            plane.running(central_url, tmp_path / "central") as central,
            realm_hosts.at_central(central) as host,
        ):
            yield host


class TestKeycloakEmulated(RealmConformance):
    name = "keycloak"

    @pytest.fixture
    async def stage(self) -> AsyncGenerator[RealmStage, None]:
        async with realm_hosts.emulated() as (_, host):
            yield host


if realm_hosts.REAL in os.environ:

    class TestKeycloak(RealmConformance):
        name = "keycloak"

        @pytest.fixture
        async def stage(self) -> AsyncGenerator[RealmStage, None]:
            async with realm_hosts.at_real() as host:
                yield host
