"""API keys as they are listed: without their tokens, which nobody keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import KeyId, ServiceAccountId, TenantId, UserId


@dataclass(frozen=True)
class Key:
    id: KeyId
    tenant_id: TenantId | None
    user_id: UserId | None
    service_account_id: ServiceAccountId | None
    client_id: str | None  # through which its owner made it
    name: str
    role: str
    scopes: Sequence[str] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
