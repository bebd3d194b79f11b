"""What placements write: everything in one statement, while the next ones are planned."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from penstock.central.allocations import orders, waiting
from penstock.central.allocations.model import Allocation
from penstock.central.placement.wants import Want
from penstock.kernel import audit, events
from penstock.kernel.db import Record, Tx
from penstock.kernel.outgoing import drain, hold
from penstock.placement.model import Plan
from penstock_contracts.wire_pb2 import SlotBinding

# Columns travel as one text each, which is far cheaper than arrays of many small values.
SEPARATOR: Final = "\x1f"  # in no id, name or number


def _columns(*numbers: int) -> str:
    return ", ".join(f"string_to_array(${n}, E'\\x1f')" for n in numbers)


# The claims' trigger runs when all of it is done, so it sees the allocations. A slot that is
# held already is a unique violation: the fleet was stale, and nothing was written.
PLACE: Final = f"""
    WITH made AS (
        INSERT INTO allocations (id, tenant_id, project_id, sku_id, shape, family, currency,
            site_id, node_id, created_by, correlation_id, gpus, price_micros_per_gpu_hour,
            priority, asked_site_id, ends_at, desired, desired_at, revision, created_at, placed_at)
        SELECT id, tenant, project, sku, shape, family, currency, site, node, by, correlation,
            gpus::int, price::bigint, priority::smallint, nullif(asked_site, ''),
            nullif(ends, '')::timestamptz, 'active', $1, 1, $1, $1
        FROM unnest({_columns(*range(2, 18))}) AS new (id, tenant, project, sku, shape, family,
            currency, site, node, by, correlation, gpus, price, priority, asked_site, ends)
    ), held AS (
        INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
        SELECT slot, fence::bigint, allocation, tenant, node, $1
        FROM unnest({_columns(*range(18, 23))}) AS new (slot, fence, allocation, tenant, node)
    ), logged AS (
        INSERT INTO fleet_changes
            (revision, kind, node_id, slot_ids, allocation_id, tenant_id, receipt, at)
        SELECT revision::bigint, 'claim', node, string_to_array(slots, ' '), id, tenant, receipt, $1
        FROM ROWS FROM (unnest({_columns(*range(23, 28))}), jsonb_array_elements($28))
            AS new (revision, node, slots, id, tenant, receipt)
    ), told AS MATERIALIZED (
        SELECT append_outgoing($29, $30, $31, $32, $33, $34, $1)
    )
    SELECT id, kind, index, gpu_uuid, nvme_serial, fabric_guid, numa_node, cpus, memory_mib,
        cleanup_steps
    FROM slots WHERE id = ANY({_columns(18)}) AND EXISTS (SELECT FROM told)
"""  # noqa: S608 numbers of parameters, nothing else


@dataclass(frozen=True)
class Placement:
    """A decision, at its revision of the fleet."""

    want: Want
    allocation: Allocation
    plan: Plan
    revision: int
    receipt: dict[str, object]


class Writer:
    """Writes placements a few at a time, and has work to do while the database has.

    `put` sends some and returns while they are being written. Of those before, the orders,
    audit entries and events are made meanwhile; they are sent with the next.
    """

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._sent: Sequence[Placement] = ()
        self._answer: asyncio.Task[list[Record]] | None = None
        self._holds = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The connection is free again, whatever happened."""
        if kind is None:
            self._tell(*await self._finish())
        elif self._answer is not None:
            with suppress(Exception):
                await self._answer

    async def put(self, placed: Sequence[Placement]) -> None:
        if not placed:
            return
        columns = _texts(placed)
        written = await self._finish()
        await waiting.place(self._tx, [one.allocation for one in placed if one.want.waited])
        await self._send(placed, columns)
        self._tell(*written)

    async def _send(self, placed: Sequence[Placement], columns: list[str]) -> None:
        outgoing = self._tx.outgoing
        if outgoing.entries and not self._holds:
            await hold(self._tx.connection)
            self._holds = True
        receipts = [one.receipt for one in placed]
        writing = self._tx.fetch(PLACE, self._tx.now, *columns, receipts, *drain(outgoing))
        self._sent, self._answer = placed, asyncio.create_task(writing)
        for _ in range(2):  # it begins in the loop's next turn, and is sent at that turn's end
            await asyncio.sleep(0)

    async def _finish(self) -> tuple[Sequence[Placement], list[Record]]:
        """What was sent last, now that it is written."""
        sent, answer, self._answer = self._sent, self._answer, None
        return (sent, await answer) if answer is not None else ((), [])

    def _tell(self, written: Sequence[Placement], rows: list[Record]) -> None:
        slots = {row["id"]: row for row in rows}
        for one in written:
            _tell(self._tx, one, slots)


def _texts(placed: Sequence[Placement]) -> list[str]:
    made = [one.allocation for one in placed if not one.want.waited]
    claims = [(one, taken) for one in placed for taken in one.plan.taken]
    columns: list[Iterable[str]] = [
        [a.id for a in made],
        [a.tenant_id for a in made],
        [a.project_id for a in made],
        [a.sku_id for a in made],
        [a.shape for a in made],
        [a.family for a in made],
        [a.currency for a in made],
        [a.where[0] for a in made],
        [a.where[1] for a in made],
        [a.created_by for a in made],
        [a.correlation_id for a in made],
        [str(a.gpus) for a in made],
        [str(a.price_micros_per_gpu_hour) for a in made],
        [str(a.wait.priority) for a in made],
        [a.wait.asked_site_id or "" for a in made],
        [a.wait.ends_at.isoformat() if a.wait.ends_at else "" for a in made],
        [taken.slot_id for _, taken in claims],
        [str(taken.fence) for _, taken in claims],
        [one.allocation.id for one, _ in claims],
        [one.allocation.tenant_id for one, _ in claims],
        [one.plan.node_id for one, _ in claims],
        [str(one.revision) for one in placed],
        [one.plan.node_id for one in placed],
        [" ".join(one.allocation.slot_ids) for one in placed],
        [one.allocation.id for one in placed],
        [one.allocation.tenant_id for one in placed],
    ]
    return [SEPARATOR.join(column) for column in columns]


def _tell(tx: Tx, one: Placement, slots: Mapping[str, Record]) -> None:
    """The site is ordered, the log and the audit are told."""
    made = one.allocation
    tx.correlation_id = made.correlation_id
    orders.send(tx, made, [_binding(slots[t.slot_id], t.fence) for t in one.plan.taken])
    action = "allocation.place" if one.want.waited else "allocation.create"
    audit.record(
        tx, one.want.ask.actor, action, made.id, tenant_id=made.tenant_id,
        sku=made.sku_name, gpus=made.gpus, node=made.node_id,
    )  # fmt: skip
    events.emit(
        tx, "allocation.placed", made.id, tenant_id=made.tenant_id, project=made.project_id,
        sku=made.sku_name, gpus=made.gpus, node=made.node_id, site=made.site_id,
    )  # fmt: skip


def _binding(row: Record, fence: int) -> SlotBinding:
    id, kind, index, gpu, nvme, fabric, numa, cpus, memory, steps = row
    return SlotBinding(
        slot_id=id, fence=fence, chassis=kind == "chassis", index=index, gpu_uuid=gpu,
        nvme_serial=nvme, fabric_guid=fabric, numa_node=numa, cpus=cpus, memory_mib=memory,
        cleanup_steps=steps,
    )  # fmt: skip
