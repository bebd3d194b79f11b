"""The driver: the verbs of a realm provider, over a world in memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final

from penstock_contracts.drivers.config import within
from penstock_contracts.drivers.faults import Conflict, Gone, NoCapacity
from penstock_contracts.drivers.realm import REALM, Hosted, Wanted
from penstock_contracts.drivers.registry import Driver

from .server import serving
from .world import Realm, World


@dataclass(frozen=True)
class ToyConfig:
    realms_max: Annotated[int, within(1, 100)] = 10


@dataclass(frozen=True)
class ToyRealms:
    config: ToyConfig
    world: World = field(default_factory=World)

    async def ensure(self, wanted: Wanted) -> Hosted:
        realm = self._find(wanted)
        if realm is None:
            if len(self.world.realms) >= self.config.realms_max:
                raise NoCapacity(f"there are {self.config.realms_max} realms already")
            realm = Realm(wanted, f"{self.world.address}/realms/{wanted.name}")
            self.world.realms[wanted.name] = realm
        return Hosted(realm.issuer, f"{realm.issuer}/keys", f"{realm.issuer}/welcome")

    async def invite(self, wanted: Wanted, email: str) -> None:
        self._here(wanted).people.setdefault(email, False)

    async def suspend(self, wanted: Wanted) -> None:
        self._here(wanted).suspended = True

    async def resume(self, wanted: Wanted) -> None:
        self._here(wanted).suspended = False

    async def remove(self, wanted: Wanted) -> None:
        realm = self.world.realms.get(wanted.name)
        if realm is not None and realm.wanted.tenant == wanted.tenant:
            del self.world.realms[wanted.name]

    def _find(self, wanted: Wanted) -> Realm | None:
        realm = self.world.realms.get(wanted.name)
        if realm is not None and realm.wanted.tenant != wanted.tenant:
            raise Conflict(f"there is a realm {wanted.name} that is not this tenant's")
        return realm

    def _here(self, wanted: Wanted) -> Realm:
        realm = self._find(wanted)
        if realm is None:
            raise Gone(f"there is no realm {wanted.name}")
        return realm


@asynccontextmanager
async def _open(config: ToyConfig) -> AsyncGenerator[ToyRealms]:
    toy = ToyRealms(config)
    with serving(toy.world):
        yield toy


DRIVER: Final = Driver(REALM, "toy", "Hosts realms in memory.", ToyConfig, _open)
