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
    )
    SELECT id, kind, index, gpu_uuid, nvme_serial, fabric_guid, numa_node, cpus, memory_mib,
        cleanup_steps
    FROM slots WHERE id = ANY({_columns(18)})
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
    """Writes placements a few at a time; `put` returns while they are being written."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._under_way: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The connection is free again, whatever happened."""
        if kind is None:
            await self.finish()
        elif self._under_way is not None:
            with suppress(Exception):
                await self._under_way

    async def put(self, placed: Sequence[Placement]) -> None:
        await self.finish()
        if placed:
            self._under_way = asyncio.create_task(_write(self._tx, placed))
            await asyncio.sleep(0)  # let it be sent

    async def finish(self) -> None:
        if self._under_way is not None:
            under_way, self._under_way = self._under_way, None
            await under_way


async def _write(tx: Tx, placed: Sequence[Placement]) -> None:
    await waiting.place(tx, [one.allocation for one in placed if one.want.waited])
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
    texts = [SEPARATOR.join(column) for column in columns]
    rows = await tx.fetch(PLACE, tx.now, *texts, [one.receipt for one in placed])
    slots = {row["id"]: row for row in rows}
    for one in placed:
        _tell(tx, one, slots)


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
