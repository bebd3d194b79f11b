"""What placements write: everything in one statement, while the next ones are planned."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from penstock.central.allocations import deadlines, members, orders, partings, waiting
from penstock.central.allocations.model import Allocation
from penstock.central.placement.answers import keyed
from penstock.central.placement.bindings import Bindings
from penstock.central.placement.wants import Want
from penstock.kernel import audit, events
from penstock.kernel.db import Record, Tx
from penstock.kernel.http.idempotency import recorded, recording
from penstock.kernel.outgoing import append, drain, hold
from penstock.placement.model import Plan

# Columns travel as one text each, which is far cheaper than arrays of many small values.
SEPARATOR: Final = "\x1f"  # in no id, name, number or JSON


def _columns(*numbers: int) -> str:
    return ", ".join(f"string_to_array(${n}, E'\\x1f')" for n in numbers)


# The log's trigger makes the claims when all of it is done, so it sees the allocations. A slot that
# is held already is a unique violation: the fleet was stale, and nothing was written.
PLACE: Final = f"""
    WITH placed AS MATERIALIZED (
        SELECT new.*, string_to_array(slots, ' ') AS slot_ids
        FROM unnest({_columns(*range(2, 22))}) AS new (id, tenant, node, slots, revision, receipt,
            waited, project, sku, shape, family, currency, site, by, correlation, gpus, price,
            priority, asked_site, ends)
    ), made AS (
        INSERT INTO allocations (id, tenant_id, project_id, sku_id, shape, family, currency,
            site_id, node_id, slot_ids, created_by, correlation_id, gpus,
            price_micros_per_gpu_hour, priority, asked_site_id, ends_at, desired, desired_at,
            revision, created_at, placed_at)
        SELECT id, tenant, project, sku, shape, family, currency, site, node, slot_ids, by,
            correlation, gpus::int, price::bigint, priority::smallint, nullif(asked_site, ''),
            nullif(ends, '')::timestamptz, 'active', $1, 1, $1, $1
        FROM placed WHERE waited = 'no'
    ), logged AS (
        INSERT INTO fleet_changes
            (revision, kind, node_id, slot_ids, allocation_id, tenant_id, receipt, at)
        SELECT revision::bigint, 'claim', node, slot_ids, id, tenant, receipt, $1 FROM placed
    ), answered AS (
        {recording(30)}
    )
    SELECT {append(22)}
"""  # noqa: S608 numbers of parameters, nothing else
BINDINGS: Final = """
    SELECT id, kind, index, gpu_uuid, nvme_serial, fabric_guid, numa_node, cpus, memory_mib,
        cleanup_steps
    FROM slots WHERE node_id = ANY($1)
"""


@dataclass(frozen=True)
class Placement:
    """A decision, at its revision of the fleet: that is the fence of its claims."""

    want: Want
    allocation: Allocation
    plan: Plan
    revision: int
    receipt: str  # as the log keeps it; of a gang, the same for each member
    gang: tuple[Allocation, ...] = ()  # of a lead: all members, itself first


class Writer:
    """Writes placements a few at a time; while the database writes some, the next are planned.

    With them go their orders, audit entries and events.
    """

    def __init__(self, tx: Tx, bindings: Bindings) -> None:
        self._tx = tx
        self._bindings = bindings
        self._sent: asyncio.Task[list[Record]] | None = None
        self._holds = False
        self._parted: list[Allocation] = []  # new, and to stay apart from others
        self._gangs: list[Allocation] = []  # new members of some

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The connection is free again, whatever happened."""
        if kind is None:
            await self._finish()
            await partings.keep(self._tx, self._parted)
            await members.bind(self._tx, self._gangs)
        else:
            with suppress(Exception):
                await self._finish()

    async def put(self, placed: Sequence[Placement], *, more: bool) -> None:
        """Send these, and return while they are being written. `more` will follow."""
        if not placed:
            return
        await self._learn(placed)
        for one in placed:
            _tell(self._tx, one, self._bindings.of(one.plan.slot_ids, one.revision))
            if one.want.ask.terms.apart_from and not one.want.waited:
                self._parted.append(one.allocation)
            if one.gang:
                self._gangs += one.gang
        # The database waits for what a statement takes, so it is written before the last is done.
        now = self._tx.now
        letter = [now, *_texts(placed), *drain(self._tx.outgoing), now, *_answers(placed, now)]
        await self._finish()
        await waiting.place(self._tx, [one.allocation for one in placed if one.want.waited])
        if more and not self._holds:
            await hold(self._tx.connection)
            self._holds = True
        await self._send(letter)

    async def _learn(self, placed: Sequence[Placement]) -> None:
        """All slots of a node at once: whoever comes next is likely to be placed there too."""
        unknown = self._bindings.lack(part for one in placed for part in one.plan.parts)
        if unknown:
            await self._finish()
            self._bindings.learn(await self._tx.fetch(BINDINGS, list(unknown)))

    async def _send(self, letter: list[object]) -> None:
        self._sent = asyncio.create_task(self._tx.fetch(PLACE, *letter))
        for _ in range(2):  # it begins in the loop's next turn, and is sent at that turn's end
            await asyncio.sleep(0)

    async def _finish(self) -> None:
        """Wait until what was sent last is written."""
        sent, self._sent = self._sent, None
        if sent is not None:
            await sent


def _answers(placed: Sequence[Placement], now: datetime) -> tuple[object, ...]:
    """To the keys of those who asked just now; who waited had theirs before."""
    return recorded(keyed([one.want.ask for one in placed if not one.want.waited]), now)


def _texts(placed: Sequence[Placement]) -> list[str]:
    made = [one.allocation for one in placed]
    columns: list[Iterable[str]] = [
        [a.id for a in made],
        [a.tenant_id for a in made],
        [a.where[1] for a in made],
        [" ".join(a.slot_ids) for a in made],
        [str(one.revision) for one in placed],
        [one.receipt for one in placed],
        ["yes" if one.want.waited else "no" for one in placed],
        [a.project_id for a in made],
        [a.sku_id for a in made],
        [a.shape for a in made],
        [a.family for a in made],
        [a.currency for a in made],
        [a.where[0] for a in made],
        [a.created_by for a in made],
        [a.correlation_id for a in made],
        [str(a.gpus) for a in made],
        [str(a.price_micros_per_gpu_hour) for a in made],
        [str(a.wait.priority) for a in made],
        [a.wait.asked_site_id or "" for a in made],
        [a.wait.ends_at.isoformat() if a.wait.ends_at else "" for a in made],
    ]
    return [SEPARATOR.join(column) for column in columns]


def _tell(tx: Tx, one: Placement, slots: Sequence[bytes]) -> None:
    """The site is ordered, the log and the audit are told."""
    made = one.allocation
    tx.correlation_id = made.correlation_id
    orders.send(tx, made, slots)
    if made.wait.ends_at is not None:
        deadlines.tell(tx)
    action = "allocation.place" if one.want.waited else "allocation.create"
    gang = {"gang": made.gang_id} if made.gang_id else {}
    audit.record(
        tx, one.want.ask.actor, action, made.id, tenant_id=made.tenant_id,
        reason=one.want.ask.reason, sku=made.sku_name, gpus=made.gpus, node=made.node_id, **gang,
    )  # fmt: skip
    events.emit(
        tx, "allocation.placed", made.id, tenant_id=made.tenant_id, project=made.project_id,
        sku=made.sku_name, gpus=made.gpus, node=made.node_id, site=made.site_id,
    )  # fmt: skip
    if one.gang:
        events.emit(
            tx, "gang.placed", made.id, tenant_id=made.tenant_id, project=made.project_id,
            sku=made.sku_name, gpus=made.gpus, nodes=made.nodes, site=made.site_id,
            members=[member.id for member in one.gang],
        )  # fmt: skip
