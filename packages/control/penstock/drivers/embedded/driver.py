"""Central's own realms, declared."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock_contracts.drivers.config import WebAddress
from penstock_contracts.drivers.realm import REALM
from penstock_contracts.drivers.registry import Driver
from penstock_contracts.drivers.secrets import Secret

if TYPE_CHECKING:
    from penstock.drivers.embedded.provider import Embedded


@dataclass(frozen=True)
class EmbeddedConfig:
    """The central whose realms they are."""

    database_url: Secret
    public_url: WebAddress


@asynccontextmanager
async def _open(config: EmbeddedConfig) -> AsyncGenerator["Embedded"]:
    # Half of central: whoever only lists drivers need not load it.
    from penstock.drivers.embedded import provider

    async with provider.connected(config.database_url.value, config.public_url) as embedded:
        yield embedded


DRIVER: Final = Driver(
    REALM, "embedded", "Hosts realms in central's own database.", EmbeddedConfig, _open
)
