"""What may be asked of the audit log. The caller owns the transaction."""

from typing import Final

from penstock.central.access.authorization import Resource, authorize
from penstock.central.audit import store
from penstock.central.audit.model import Entry, Filter, Verification
from penstock.central.evidence.model import Line, Point
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx

FAULTS_MAX: Final = 20  # each range tells of its first ones


async def page(
    tx: Tx, actor: Actor, wanted: Filter, *, after: int | None, limit: int, newest_first: bool
) -> list[Entry]:
    authorize(actor, "audit.view", Resource("audit", None, actor.tenant_id))
    return await store.page(tx, wanted, after=after, limit=limit, newest_first=newest_first)


async def lines(tx: Tx, actor: Actor, after: int, limit: int) -> list[Line]:
    """The chain is one for all tenants: only the platform can see it whole."""
    authorize(actor, "audit.verify", Resource("audit"))
    return await store.lines(tx, after, limit)


async def verify(tx: Tx, actor: Actor, after: int, limit: int) -> Verification:
    """Recompute every hash after one entry, for so many of them."""
    authorize(actor, "audit.verify", Resource("audit"))
    head, start = await store.head(tx), await store.start(tx)
    after = max(after, start.seq)
    until = after + limit if after + limit < head.seq else store.SEQ_MAX
    faults = await store.faults(tx, after, until, FAULTS_MAX)
    last = head if until == store.SEQ_MAX else await store.point(tx, until)
    return Verification(
        after=after,
        until=last or Point(until, b""),
        head=head,
        start=start,
        faults=tuple(faults),
        export=await store.export(tx),
    )
