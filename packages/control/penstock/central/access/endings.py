"""Personal keys that end with what they came from: their owner's standing, or a client.

Whoever ends the first holds the owner's row, and has ended the sessions before: a key that is being
made meanwhile is seen here, or its maker sees that the session is over (`personal.create`).
"""

from penstock.central.access import store
from penstock.central.access.model import Key
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId, UserId


async def of_user(
    tx: Tx, actor: Actor, user_id: UserId, reason: str, *, client_id: str | None = None
) -> None:
    """All that a person has; of one client, if it is named."""
    _tell(tx, actor, await store.revoke_of_user(tx, user_id, client_id), reason)


async def of_client(tx: Tx, actor: Actor, tenant_id: TenantId, client_id: str, reason: str) -> None:
    _tell(tx, actor, await store.revoke_of_client(tx, tenant_id, client_id), reason)


def _tell(tx: Tx, actor: Actor, ended: list[Key], reason: str) -> None:
    for key in ended:
        before = {"name": key.name, "role": key.role, "revoked_at": None}
        audit.record(
            tx, actor, "key.revoke", key.id, tenant_id=key.tenant_id, reason=reason, before=before
        )
