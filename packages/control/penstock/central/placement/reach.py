"""What of the fleet a tenant may use: the policy that is laid over all that it asks for."""

from penstock.central.allocations import waiting
from penstock.central.allocations.wait import PRIORITY_DEFAULT
from penstock.central.policies import service as policies
from penstock.central.policies.model import Policy
from penstock.kernel.db import Tx
from penstock.placement.explaining import availability
from penstock.placement.fleet import Fleet
from penstock.placement.requests import Overlay, Request, Shape
from penstock_contracts.ids import TenantId


async def of(tx: Tx, tenant_id: TenantId) -> Overlay:
    """The same overlay that its leases are placed under."""
    return under((await policies.find(tx, [tenant_id]))[tenant_id])


def under(policy: Policy) -> Overlay:
    return Overlay(
        tenant=policy.tenant_id,
        sites=policy.sites,
        families_allowed=policy.families,
        residency=policy.residency,
        price_micros_max=policy.price_micros_max,
        strategy=policy.strategy,
    )


def sites(policy: Policy, fleet: Fleet) -> frozenset[str]:
    """The sites that a tenant may know of: those that its policy names, and those where it may use
    a node. Any other is answered like one that does not exist."""
    anything = Request("", Shape.GPU_SLICE, 1, **vars(under(policy)))
    return frozenset({*(policy.sites or ()), *availability.sites(anything, fleet)})


async def kept(tx: Tx) -> tuple[str, ...]:
    """The nodes that nobody gets who asks now, with the usual priority."""
    return await waiting.kept_nodes(tx, PRIORITY_DEFAULT)
