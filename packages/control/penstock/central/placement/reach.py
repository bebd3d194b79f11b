"""What of the fleet a tenant may use: the policy that is laid over all that it asks for."""

from penstock.kernel.db import Tx
from penstock.placement.requests import Overlay
from penstock_contracts.ids import TenantId


async def of(_tx: Tx, tenant_id: TenantId) -> Overlay:
    """The same overlay that its leases are placed under."""
    return Overlay(tenant=tenant_id)
