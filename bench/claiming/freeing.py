"""Making room again, in bulk: what released leases leave once every proof is in.

The proofs are rows without signatures: nodes make those, and central checks them, lease by
lease. Here only the room counts, and that the database lets nothing be freed without a row.
"""

from penstock.central import fleet
from penstock.kernel import wakeups
from penstock.kernel.db import Tx
from penstock_contracts.ids import AllocationId

PROVE = """
    INSERT INTO cleanup_proofs
        (id, slot_id, fence, allocation_id, tenant_id, payload, signature, proven_at)
    SELECT 'proof_' || c.slot_id || c.fence, c.slot_id, c.fence, a.id, a.tenant_id, '', '', $2
    FROM allocations a JOIN claims c ON c.slot_id = ANY(a.slot_ids) AND c.allocation_id = a.id
    WHERE a.id = ANY($1) AND c.freed_at IS NULL
"""
FREE = """
    UPDATE claims c SET freed_at = $2 FROM allocations a
    WHERE a.id = ANY($1) AND c.slot_id = ANY(a.slot_ids) AND c.allocation_id = a.id
        AND c.freed_at IS NULL
"""
END = """
    UPDATE allocations SET desired = 'released', desired_at = $2, observed = 'released',
        freed_at = $2 WHERE id = ANY($1)
"""
LOG = """
    INSERT INTO fleet_changes (revision, kind, node_id, slot_ids, allocation_id, tenant_id, at)
    SELECT (SELECT max(revision) FROM fleet_changes) + row_number() OVER (), 'free', node_id,
        slot_ids, id, tenant_id, $2
    FROM allocations WHERE id = ANY($1)
"""


async def free(tx: Tx, ids: list[AllocationId]) -> None:
    await fleet.lock(tx)
    for sql in (PROVE, FREE, END, LOG):
        await tx.execute(sql, ids, tx.now)
    wakeups.notify(tx, fleet.ROOM)
