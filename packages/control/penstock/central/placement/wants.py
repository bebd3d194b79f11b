"""From what was asked (names) to what is wanted (a SKU, a project, a solver's request)."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.central.access.authorization import Resource, authorize
from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.placement.queue import Ask
from penstock.central.policies import model as overlays
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
from penstock.kernel.errors import Forbidden, Invalid, NotFound, Problem
from penstock.placement.model import Request
from penstock_contracts.ids import AllocationId, TenantId


@dataclass(frozen=True)
class Want:
    """`request` is what was asked with the tenant's policy laid over it."""

    ask: Ask
    project: Project
    sku: Sku
    request: Request
    policy: Policy

    @property
    def policy_revision(self) -> int:
        return self.policy.revision

    def may_become(self, change: Request) -> bool:
        """Whether whoever asked could ask for this instead: a tenant's ceiling is not theirs."""
        return change.price_micros_max is not None or self.policy.price_micros_max is None


@dataclass(frozen=True)
class Known:
    """What the asks of a batch may speak of."""

    projects: list[Project]
    skus: list[Sku]
    sites: dict[str, Site | Problem]
    policies: dict[TenantId, Policy]
    statuses: dict[TenantId, Status]
    leases: dict[str, Allocation]


async def resolve(tx: Tx, asks: Sequence[Ask]) -> dict[str, Want | Problem]:
    """By ask id: what each wants, or why it cannot want that."""
    known = await _look_up(tx, asks)
    wants: dict[str, Want | Problem] = {}
    for ask in asks:
        try:
            wants[ask.id] = _want(ask, known)
        except Problem as refusal:
            wants[ask.id] = refusal
    return wants


async def _look_up(tx: Tx, asks: Sequence[Ask]) -> Known:
    found = await projects.find(tx, [ask.project for ask in asks])
    owners = [project.tenant_id for project in found]
    apart_from = sorted({id for ask in asks for id in ask.terms.apart_from})
    leases = await allocations.find(tx, list(map(AllocationId, apart_from))) if apart_from else []
    return Known(
        projects=found,
        skus=await sku_service.find(tx, [ask.sku for ask in asks]),
        sites={name: await _site(tx, name) for name in {ask.site for ask in asks if ask.site}},
        policies=await policies.find(tx, owners),
        statuses=await tenants.statuses(tx, owners),
        leases={lease.id: lease for lease in leases},
    )


async def _site(tx: Tx, reference: str) -> Site | Problem:
    try:
        return await site_service.get(tx, SYSTEM, reference)
    except NotFound as missing:
        return missing


def _want(ask: Ask, known: Known) -> Want:
    project = projects.pick(known.projects, ask.actor, ask.project)
    status = known.statuses[project.tenant_id]
    resource = Resource("project", project.id, project.tenant_id, status)
    authorize(ask.actor, "allocation.create", resource)
    sku = next((sku for sku in known.skus if ask.sku in (sku.id, sku.name)), None)
    if sku is None:
        raise Invalid(
            f"sku: there is no SKU {ask.sku!r}",
            code="unknown_sku",
            suggestion="`penstock sku ls` lists what can be leased",
        )
    site = known.sites.get(ask.site) if ask.site else None
    if isinstance(site, Problem):
        raise Invalid(f"site: {site.detail}", code="unknown_site")
    gpus = _count(ask, sku)
    bare = Request(sku.family, sku.shape, gpus, site.id if site else None)
    policy = known.policies[project.tenant_id]
    if policy.skus is not None and sku.name not in policy.skus:
        raise Forbidden(
            f"sku: your tenant may lease {', '.join(policy.skus)}, not {sku.name}",
            code="sku_not_allowed",
            suggestion="ask for one of those, or ask the platform to allow more",
        )
    request = overlays.lay_over(bare, policy, ask.terms, _nodes_apart(ask, project, known))
    return Want(ask, project, sku, request, policy)


def _nodes_apart(ask: Ask, project: Project, known: Known) -> list[str]:
    """The nodes of the leases to stay apart from. One that has ended keeps nobody away."""
    nodes: list[str] = []
    for id in ask.terms.apart_from:
        lease = known.leases.get(id)
        if lease is None or lease.tenant_id != project.tenant_id:
            raise Invalid(
                f"apart_from: there is no allocation {id!r}",
                code="unknown_allocation",
                suggestion="name leases of the project's own tenant",
            )
        if lease.freed_at is None:
            nodes.append(lease.node_id)
    return nodes


def _count(ask: Ask, sku: Sku) -> int:
    if ask.gpus is None and len(sku.gpu_counts) == 1:
        return sku.gpu_counts[0]
    gpus = 1 if ask.gpus is None else ask.gpus
    if gpus not in sku.gpu_counts:
        counts = ", ".join(str(count) for count in sku.gpu_counts)
        raise Invalid(
            f"gpus: SKU {sku.name!r} comes with {counts} GPUs, not {gpus}", code="impossible_count"
        )
    return gpus
