"""A person's side of the device flow."""

from penstock.central.realms.grants import store
from penstock.central.realms.grants.model import Device
from penstock.central.realms.sessions.model import Session
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel import audit
from penstock.kernel.db import Tx
from penstock_contracts.ids import TenantId


async def waiting(tx: Tx, tenant_id: TenantId, user_code: str) -> Device | None:
    """The device that shows this code and still waits for an answer."""
    device = await store.lock_device_by_user_code(tx, tenant_id, user_code)
    if device is None or device.decision is not None or device.expires_at <= tx.now:
        return None
    return device


async def decide(
    tx: Tx, tenant_id: TenantId, user_code: str, session: Session, user: User, *, allow: bool
) -> bool:
    """Let the device in, or not; once. False if it does not wait any more."""
    device = await waiting(tx, tenant_id, user_code)
    if device is None:
        return False
    decision = "approved" if allow else "denied"
    await store.decide_device(tx, device, decision, user.id, session.amr, session.auth_at)
    audit.record(
        tx, users.actor_of(user), "device.decide", device.user_code, decision=decision,
        client=device.client_id, scope=device.scope,
    )  # fmt: skip
    return True
