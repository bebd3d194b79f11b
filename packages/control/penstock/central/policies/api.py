"""A tenant's placement policy over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from penstock.central.policies import service
from penstock.central.policies.model import Policy
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Images, Names, References, Tags
from penstock.placement.model import Strategy
from penstock_contracts.ids import TenantId

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=TxRoute)

Ceiling = Annotated[int, Field(ge=0, le=10**12)]


class NewPolicy(Body):
    """What is left out is not restricted."""

    sites: References | None = None
    families: Names | None = None
    skus: Names | None = None
    images: Images | None = None
    residency: Tags = Field(default_factory=list[str])
    strategy: Literal["pack", "spread"] = "pack"
    price_micros_max: Ceiling | None = None
    weight: Annotated[int, Field(ge=1, le=1000)] = 1


class PolicyView(View):
    tenant: str
    revision: int
    sites: list[str] | None
    families: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    residency: list[str]
    strategy: str
    price_micros_max: int | None
    weight: int

    @classmethod
    def of(cls, policy: Policy) -> "PolicyView":
        return cls(
            tenant=policy.tenant_id,
            revision=policy.revision,
            sites=None if policy.sites is None else list(policy.sites),
            families=None if policy.families is None else list(policy.families),
            skus=None if policy.skus is None else list(policy.skus),
            images=None if policy.images is None else list(policy.images),
            residency=list(policy.residency),
            strategy=policy.strategy,
            price_micros_max=policy.price_micros_max,
            weight=policy.weight,
        )


@router.get("/{id}/placement")
async def get_policy(id: str, actor: Caller, tx: Tx) -> PolicyView:
    """What the tenant may lease, and where that may go."""
    return PolicyView.of(await service.get(tx, actor, id))


@router.put("/{id}/placement")
async def set_policy(id: str, body: NewPolicy, actor: Caller, tx: Tx) -> PolicyView:
    """Replace the policy. To bind the tenant to one site, allow that one only."""
    wanted = Policy(
        tenant_id=TenantId(id),
        families=None if body.families is None else tuple(body.families),
        skus=None if body.skus is None else tuple(body.skus),
        images=None if body.images is None else tuple(body.images),
        residency=tuple(body.residency),
        strategy=Strategy(body.strategy),
        price_micros_max=body.price_micros_max,
        weight=body.weight,
    )
    return PolicyView.of(await service.put(tx, actor, id, wanted, body.sites))
