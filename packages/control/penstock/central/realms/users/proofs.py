"""How a user proves who they are. Each step is a short transaction; hashing is between them.

An attempt is counted before it is checked: however many guesses come at once, no more
than the lockout allows are ever compared.
"""

from dataclasses import replace

from penstock.central.realms.users import model, store, totp
from penstock.central.realms.users.model import User
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.sealing import Seal
from penstock_contracts import addresses
from penstock_contracts.ids import TenantId


async def count_attempt(tx: Tx, tenant_id: TenantId, email: str) -> User | None:
    """The user to compare with; None if there is none, or they are locked or disabled."""
    user = await store.lock_by_email(tx, tenant_id, addresses.normal(email) or "")
    return None if user is None else await _counted(tx, user)


async def meant(tx: Tx, tenant_id: TenantId, email: str) -> str | None:
    """Whose account somebody tried, for the audit log."""
    user = await store.by_email(tx, tenant_id, addresses.normal(email) or "")
    return None if user is None else user.id


async def count_code(tx: Tx, user_id: str) -> User | None:
    user = await store.lock(tx, user_id)
    return None if user is None else await _counted(tx, user)


async def _counted(tx: Tx, user: User) -> User | None:
    if user.disabled_at is not None or user.locked(tx.now):
        return None
    failures = user.failures + 1
    until = model.lock_until(failures, tx.now)
    counted = replace(user, failures=failures, locked_until=until)
    await store.save(tx, counted)
    if until is not None:
        actor = Actor("user", user.id, user.role, user.tenant_id)
        audit.record(tx, actor, "user.lock", user.id, failures=failures, until=until.isoformat())
        events.emit(tx, "user.locked", user.id, tenant_id=user.tenant_id, failures=failures)
    return counted


async def succeed(tx: Tx, user: User) -> User | None:
    """All that was asked is proven: failures are forgotten. None if they were disabled since."""
    current = await store.lock(tx, user.id)
    if current is None or current.disabled_at is not None:
        return None
    clean = replace(current, failures=0, locked_until=None)
    await store.save(tx, clean)
    return clean


async def spend_code(tx: Tx, seal: Seal, user: User, code: str) -> bool:
    """Whether the code is good; then it is good no more."""
    current = await store.lock(tx, user.id)
    if current is None or current.totp is None:
        return False
    secret = seal.open(_purpose(user), current.totp)
    step = totp.step_of(secret, code, tx.now, after=current.totp_step)
    if step is None:
        return False
    await store.save(tx, replace(current, totp_step=step))
    return True


async def enrol(tx: Tx, seal: Seal, user: User, secret: bytes, code: str) -> bool:
    """Ask for codes from now on, if this one shows that the authenticator works."""
    current = await store.lock(tx, user.id)
    step = totp.step_of(secret, code, tx.now, after=0)
    if current is None or current.totp is not None or step is None:
        return False
    sealed = seal.seal(_purpose(user), secret)
    await store.save(tx, replace(current, totp=sealed, totp_step=step))
    actor = Actor("user", user.id, user.role, user.tenant_id)
    audit.record(tx, actor, "user.enrol", user.id, factor="totp")
    events.emit(tx, "user.enrolled", user.id, tenant_id=user.tenant_id, factor="totp")
    return True


def _purpose(user: User) -> str:
    return f"second factor of {user.id}"
