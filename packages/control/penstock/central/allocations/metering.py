"""What a lease uses: from when its tenant was seen to have its GPUs, until it was not."""

from datetime import datetime

from penstock.central.allocations.model import Allocation
from penstock.central.usage import service as usage
from penstock.central.usage.model import Segment
from penstock.kernel.db import Tx


async def begin(tx: Tx, allocation: Allocation, at: datetime) -> None:
    await usage.begin(
        tx,
        Segment(
            allocation.id,
            allocation.tenant_id,
            allocation.project_id,
            allocation.sku_id,
            allocation.sku_name,
            allocation.gpus,
            allocation.price_micros_per_gpu_hour,
            allocation.currency,
            at,
            None,
        ),
    )


async def end(tx: Tx, allocation: Allocation, at: datetime) -> None:
    await usage.end(tx, allocation.id, allocation.tenant_id, at)
