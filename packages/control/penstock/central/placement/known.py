"""What the asks of a batch speak of, by name: to be asked for, and then there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.central.allocations import partings
from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.placement.queue import Ask
from penstock.central.policies import service as policies
from penstock.central.policies.model import Policy
from penstock.central.projects import service as projects
from penstock.central.projects.model import Project
from penstock.central.sites import service as site_service
from penstock.central.sites.model import Site
from penstock.central.skus import service as sku_service
from penstock.central.skus.model import Sku
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound, Problem
from penstock.kernel.questions import Question
from penstock_contracts.ids import AllocationId, TenantId


class Names:
    """What the asks of a batch name: to be asked for, and then there."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        references = list({ask.project for ask in asks})
        self.projects = projects.named_so(references, {ask.actor.tenant_id for ask in asks})
        self.skus = sku_service.named_so(list({ask.sku for ask in asks}))

    @property
    def questions(self) -> tuple[Question[list[Project]], Question[list[Sku]]]:
        return self.projects, self.skus


class Standing:
    """How the tenants of these projects stand: their status, and the policy in force."""

    def __init__(self, found: Sequence[Project]) -> None:
        owners = {project.tenant_id for project in found}
        self.policies = policies.of_tenants(owners)
        self.statuses = tenants.statuses(owners)

    @property
    def questions(self) -> tuple[Question[Any], ...]:
        return self.policies, self.statuses


@dataclass(frozen=True)
class Known:
    """What the asks of a batch may speak of."""

    projects: list[Project]
    skus: list[Sku]
    sites: dict[str, Site | Problem]
    policies: dict[TenantId, Policy]
    statuses: dict[TenantId, Status]
    leases: dict[str, Allocation]
    named_by: Mapping[AllocationId, Sequence[str]]  # where those are who stay apart from it


async def look_up(
    tx: Tx, asks: Sequence[Ask], names: Names, standing: Standing, *, waited: bool = False
) -> Known:
    """Nobody but who waits can have been named by another."""
    apart_from = sorted({id for ask in asks for id in ask.terms.apart_from})
    leases = await allocations.find(tx, list(map(AllocationId, apart_from))) if apart_from else []
    return Known(
        projects=names.projects.answer,
        skus=names.skus.answer,
        sites={name: await _site(tx, name) for name in {ask.site for ask in asks if ask.site}},
        policies=standing.policies.answer,
        statuses=standing.statuses.answer,
        leases={lease.id: lease for lease in leases},
        named_by=(
            await partings.nodes_of_those_who_named(tx, [ask.id for ask in asks]) if waited else {}
        ),
    )


async def _site(tx: Tx, reference: str) -> Site | Problem:
    try:
        return await site_service.get(tx, SYSTEM, reference)
    except NotFound as missing:
        return missing
