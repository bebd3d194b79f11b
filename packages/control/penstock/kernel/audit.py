"""The audit log: every mutation writes to it, chained by hash in the database."""

from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.outgoing import AuditEntry
from penstock_contracts.ids import TenantId


def record(
    tx: Tx,
    actor: Actor,
    action: str,
    subject: str,
    *,
    tenant_id: TenantId | None = None,
    reason: str = "",
    **detail: object,
) -> None:
    """Written, and chained to the entry before it, with the transaction.

    Without a reason of its own, it is the one that the request gave.
    """
    entry = AuditEntry(
        actor=actor.name,
        action=action,
        subject=subject,
        tenant_id=tenant_id or actor.tenant_id,
        detail=detail,
        reason=reason or tx.reason,
        correlation_id=tx.correlation_id,
    )
    tx.outgoing.audit.append(entry)


async def broken_at(tx: Tx) -> int | None:
    """The first sequence at which the chain is broken, or None if it is whole."""
    seq: int | None = await tx.fetchval("SELECT min(seq) FROM invariant_audit_chain")
    return seq
