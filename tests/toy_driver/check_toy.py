"""How a third party tests its driver: with the suite of the protocol, and a stage of its own.

Not collected by itself: tests/contracts/test_toy_driver.py runs it where the package is installed.
"""

import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from toy_realms.driver import DRIVER, ToyConfig, ToyRealms

from penstock_contracts.conformance.realm import RealmConformance
from penstock_contracts.conformance.realm_stage import RealmStage
from penstock_contracts.drivers.realm import Wanted

NUMBERS = itertools.count(1)
API = "https://api.example"


@dataclass(frozen=True)
class ToyStage:
    provider: ToyRealms
    secrets: Sequence[str] = ()

    @asynccontextmanager
    async def silent(self) -> AsyncGenerator[None]:
        yield None  # it is in the same process

    async def wanted(self) -> Wanted:
        name = f"t-{next(NUMBERS)}"
        return Wanted(f"tenant_{name}", name, API, f"{API}/portal/callback")

    async def another(self, wanted: Wanted) -> Wanted:
        return replace(wanted, tenant="tenant_other")

    async def exists(self, wanted: Wanted) -> bool:
        return wanted.name in self.provider.world.realms

    async def people(self, wanted: Wanted) -> list[tuple[str, bool]]:
        return sorted(self.provider.world.realms[wanted.name].people.items())

    async def become(self, wanted: Wanted, email: str) -> None:
        assert email in self.provider.world.realms[wanted.name].people, "nobody invited them"
        self.provider.world.realms[wanted.name].people[email] = True

    async def tokens(self, wanted: Wanted, email: str) -> dict[str, Any] | None:
        return self.provider.world.realms[wanted.name].tokens(email)

    async def tidy(self, wanted: Wanted) -> None:
        await self.provider.remove(wanted)


class TestToy(RealmConformance):
    name = "toy"

    @pytest.fixture
    async def stage(self) -> AsyncGenerator[RealmStage]:
        async with DRIVER.open(ToyConfig()) as provider:
            assert isinstance(provider, ToyRealms)
            yield ToyStage(provider)
