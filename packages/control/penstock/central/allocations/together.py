"""What is told of a gang: that the lease is in another state, because a member is."""

from collections.abc import Sequence

from penstock.central.allocations import gangs, members
from penstock.central.allocations.model import Allocation
from penstock.kernel import events
from penstock.kernel.db import Tx


async def tell(tx: Tx, before: Allocation) -> None:
    """A member is no longer as it was; of a lease by itself there is nothing more to tell."""
    if before.gang_id is not None:
        now = await members.of(tx, before.gang_id)
        was = [before if member.id == before.id else member for member in now]
        compare(tx, was, now)


def compare(tx: Tx, before: Sequence[Allocation], after: Sequence[Allocation]) -> None:
    """The whole gang as it was and as it is."""
    if gangs.status(before) is gangs.status(after):
        return
    shown = gangs.as_one(after).allocation
    events.emit(
        tx, "gang.changed", shown.id, tenant_id=shown.tenant_id, status=shown.status,
        reason=shown.reason,
    )  # fmt: skip
