"""The providers of realms that this central is set up with."""

from collections.abc import Mapping

from penstock.central.realms.hosts.keycloak.admin import Admin
from penstock.central.realms.hosts.keycloak.provider import Keycloak
from penstock.central.settings import CentralSettings
from penstock_contracts.realms import RealmProvider


def configured(settings: CentralSettings) -> Mapping[str, RealmProvider]:
    """By name. Central's own realms need none."""
    if not settings.keycloak_url or settings.keycloak_secret_file is None:
        return {}
    secret = settings.keycloak_secret_file.read_text().strip()
    url, client = settings.keycloak_url, settings.keycloak_client_id
    return {"keycloak": Keycloak(Admin(url, client, secret, settings.keycloak_timeout_s))}
