"""Clients: the programs that people of a realm let act for them, or that act for themselves."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from penstock_contracts import web_addresses
from penstock_contracts.ids import TenantId

CODE: Final = "authorization_code"
REFRESH: Final = "refresh_token"
CREDENTIALS: Final = "client_credentials"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS: Final = (CODE, REFRESH, CREDENTIALS, DEVICE)

COMMAND_LINE: Final = "penstock-cli"  # the id of the client that every realm has


@dataclass(frozen=True)
class Client:
    id: str
    tenant_id: TenantId
    name: str
    secret_hash: bytes | None
    redirect_uris: tuple[str, ...]
    grants: tuple[str, ...]
    scopes: tuple[str, ...]
    role: str | None
    trusted: bool
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def public(self) -> bool:
        return self.secret_hash is None

    def redirects_to(self, uri: str) -> bool:
        """Exactly one of its addresses; on a loopback address, at any port (RFC 8252)."""
        given = web_addresses.parse(uri)
        if given is None:
            return False
        anywhere = replace(given, port=None)
        return uri in self.redirect_uris or (
            given.is_loopback and anywhere in map(web_addresses.parse, self.redirect_uris)
        )

    def limit(self, scope: str | None) -> str:
        """Of what is asked, what it may have; all of it, if nothing is asked."""
        asked = self.scopes if not scope else tuple(scope.split())
        return " ".join(dict.fromkeys(each for each in asked if each in self.scopes))


def is_redirect_uri(uri: str) -> bool:
    """Whether codes may be sent there: https, or this machine."""
    address = web_addresses.parse(uri)
    return address is not None and address.is_private
