"""Other issuers that a realm trusts to say who someone is."""

from dataclasses import dataclass, field
from datetime import datetime

from penstock_contracts.ids import ProviderId, TenantId


@dataclass(frozen=True)
class Provider:
    id: ProviderId
    tenant_id: TenantId
    name: str
    issuer: str
    client_id: str
    client_secret: bytes = field(repr=False)  # sealed
    created_at: datetime
    disabled_at: datetime | None = None


@dataclass(frozen=True)
class Person:
    """Someone, as another issuer vouches for them."""

    subject: str
    email: str | None  # only if the issuer says that it is verified
    name: str
