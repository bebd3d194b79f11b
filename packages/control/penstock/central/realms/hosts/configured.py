"""The providers of realms that this central is set up with: drivers, besides central itself."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from penstock.central.realms.hosts.model import EMBEDDED
from penstock.central.settings import CentralSettings
from penstock.kernel.settings import SettingsInvalid
from penstock_contracts.drivers import chosen
from penstock_contracts.drivers.chosen import Chosen
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.realm import REALM, RealmProvider


@asynccontextmanager
async def opened(settings: CentralSettings) -> AsyncGenerator[Mapping[str, RealmProvider]]:
    """By name. Raises SettingsInvalid before anything is opened."""
    async with chosen.opened(_chosen(settings)) as providers:
        yield providers


def _chosen(settings: CentralSettings) -> Mapping[str, Chosen[RealmProvider]]:
    file = settings.drivers
    known: Mapping[str, Chosen[RealmProvider]] = {}
    try:
        if file is not None:
            known = chosen.read(REALM, chosen.load(file), str(file))
    except Misconfigured as error:
        raise SettingsInvalid(f"the drivers are not usable:\n{error}") from None
    if EMBEDDED in known:
        raise SettingsInvalid(f"{file}: realm.{EMBEDDED}: is central itself; it needs no table")
    if settings.realm_provider not in (EMBEDDED, *known):
        raise SettingsInvalid(
            f"PENSTOCK_CENTRAL_REALM_PROVIDER is {settings.realm_provider}, and no table "
            f"realm.{settings.realm_provider} in PENSTOCK_CENTRAL_DRIVERS says where that is"
        )
    return known
