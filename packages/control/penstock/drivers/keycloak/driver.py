"""Realms at a Keycloak server, declared."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Final

from penstock.drivers.keycloak.admin import TIMEOUT_S, Admin
from penstock.drivers.keycloak.provider import Keycloak
from penstock_contracts.drivers.config import WebAddress, within
from penstock_contracts.drivers.realm import REALM
from penstock_contracts.drivers.registry import Driver
from penstock_contracts.drivers.secrets import Secret


@dataclass(frozen=True)
class KeycloakConfig:
    """Where it is, and a client of its master realm that may make realms."""

    url: WebAddress
    secret: Secret
    client_id: str = "penstock"
    timeout_s: Annotated[float, within(0.1, 60)] = TIMEOUT_S  # for one call


@asynccontextmanager
async def _open(config: KeycloakConfig) -> AsyncGenerator[Keycloak]:
    yield Keycloak(Admin(config.url, config.client_id, config.secret.value, config.timeout_s))


DRIVER: Final = Driver(
    REALM, "keycloak", "Hosts realms at a Keycloak server.", KeycloakConfig, _open
)
