"""Usage: the time in which a tenant had GPUs."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import AllocationId, ProjectId, SkuId, TenantId


@dataclass(frozen=True)
class Segment:
    """Time in which a tenant had GPUs; `to` is None while it still has them."""

    allocation_id: AllocationId
    tenant_id: TenantId
    project_id: ProjectId
    sku_id: SkuId
    sku_name: str
    gpus: int
    price_micros_per_gpu_hour: int
    currency: str
    since: datetime
    to: datetime | None
