"""A realm: one tenant's people and clients, behind an issuer of its own."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from penstock_contracts.ids import TenantId

ALGORITHM: Final = "ES256"
ACCESS_TOKEN_LIFE: Final = timedelta(minutes=5)
ID_TOKEN_LIFE: Final = timedelta(minutes=5)

# What a token may be used for at the API, each including those before it. A token does no
# more than its scopes say, and no more than its owner's role permits.
API_SCOPES: Final = ("read", "use", "administer")
# A key outlives the session in which it is made, so no other scope includes this one.
KEYS_SCOPE: Final = "keys"
OPENID_SCOPES: Final = ("openid", "profile", "email", "offline_access")
SCOPES: Final = (*OPENID_SCOPES, *API_SCOPES, KEYS_SCOPE)


@dataclass(frozen=True)
class Realm:
    tenant_id: TenantId
    name: str
    issuer: str
    created_at: datetime

    def at(self, path: str) -> str:
        return f"{self.issuer}/{path}"

    @property
    def path(self) -> str:
        """Where it is on this server, for links and cookies."""
        return f"/realms/{self.name}"


def issuer_of(public_url: str, name: str) -> str:
    return f"{public_url}/realms/{name}"


def api_scopes(scope: str) -> frozenset[str]:
    return frozenset((*API_SCOPES, KEYS_SCOPE)).intersection(scope.split())
