"""From what was asked (names) to what is wanted (a SKU, a project, a solver's request)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.central.access.authorization import Resource, authorize, permits
from penstock.central.allocations.model import Allocation
from penstock.central.allocations.wait import PRIORITY_DEFAULT
from penstock.central.balances.gate import Rate
from penstock.central.placement import reach
from penstock.central.placement.known import Known, Names, Standing, look_up
from penstock.central.placement.queue import Ask
from penstock.central.policies import model as overlays
from penstock.central.policies.model import Policy
from penstock.central.projects import service as projects
from penstock.central.projects.model import Project
from penstock.central.quotas.ledger import Demand
from penstock.central.sites.model import Site
from penstock.central.skus.model import Sku
from penstock.central.tenants.model import Status
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, Invalid, NotFound, Problem
from penstock.kernel.questions import ask_all
from penstock.placement.model import Fleet, Request, Shape
from penstock_contracts.ids import SiteId


@dataclass(frozen=True)
class Want:
    """`request` is what was asked with the tenant's policy laid over it."""

    ask: Ask
    project: Project
    sku: Sku
    request: Request
    policy: Policy
    demand: Demand  # what it counts in its quotas
    rate: Rate  # what it will cost
    waited: Allocation | None = None  # it waits already: since when, and how

    def of(self, ask: Ask) -> "Want":
        """What another ask wants that is the same but for its identity."""
        return Want(ask, self.project, self.sku, self.request, self.policy, self.demand, self.rate)

    @property
    def policy_revision(self) -> int:
        return self.policy.revision


class Judge:
    """Says what an ask wants, or why it cannot want that. Who asks for the same is judged once."""

    def __init__(self, tx: Tx, known: Known, fleet: Fleet) -> None:
        self._tx = tx
        self._known = known
        self._fleet = fleet
        self._alike: dict[object, Want | Problem] = {}
        self._reach: dict[Policy, frozenset[str]] = {}

    def judge(self, ask: Ask) -> Want | Problem:
        asked = (
            ask.actor, ask.project, ask.sku, ask.gpus, ask.site, ask.terms, ask.priority,
            ask.ends_at, ask.nodes,
        )  # fmt: skip
        judged = self._alike.get(asked)
        if judged is None:
            judged = self._alike[asked] = self._first(ask)
        return judged if isinstance(judged, Problem) else judged.of(ask)

    def _first(self, ask: Ask) -> Want | Problem:
        try:
            _check_end(self._tx, ask)
            project = projects.pick(self._known.projects, ask.actor, ask.project)
            return _want(ask, project, self._site(ask, project), self._known)
        except Problem as refusal:
            return refusal

    def _site(self, ask: Ask, project: Project) -> Site | Problem | None:
        """Where it is asked for. What is beyond a tenant's reach does not exist for its people:
        no later rule may know more of it than of one that is not there."""
        site = self._known.sites[ask.site] if ask.site else None
        if not isinstance(site, Site) or ask.actor.tenant_id is None:
            return site
        policy = self._known.policies[project.tenant_id]
        if policy not in self._reach:
            self._reach[policy] = reach.sites(policy, self._fleet)
        return site if site.id in self._reach[policy] else NotFound("site", ask.site or "")


async def judge_of(
    tx: Tx, asks: Sequence[Ask], names: Names, standing: Standing, fleet: Fleet
) -> Judge:
    """Who knows all that these may speak of."""
    return Judge(tx, await look_up(tx, asks, names, standing), fleet)


def _want(ask: Ask, project: Project, site: Site | Problem | None, known: Known) -> Want:
    sku = next((sku for sku in known.skus if ask.sku in (sku.id, sku.name)), None)
    about = replace(
        projects.resource(project),
        status=known.statuses[project.tenant_id],
        family=sku.family if sku else None,
        residency=_residency(ask, site, known.policies[project.tenant_id]),
    )
    authorize(ask.actor, "allocation.create", about)
    if ask.priority > PRIORITY_DEFAULT:
        authorize(ask.actor, "allocation.prioritize", about)
    if sku is None:
        raise Invalid(
            f"sku: there is no SKU {ask.sku!r}",
            code="unknown_sku",
            suggestion="`penstock sku ls` lists what can be leased",
        )
    if isinstance(site, Problem):
        raise Invalid(f"site: {site.detail}", code="unknown_site")
    _check_sku(sku, known.policies[project.tenant_id])
    if ask.nodes > 1 and sku.shape is not Shape.BAREMETAL:
        raise Invalid(
            f"nodes: SKU {sku.name!r} is part of one node; {ask.nodes} nodes are leased whole only",
            code="not_whole_nodes",
            suggestion="ask for a SKU of shape baremetal: `penstock sku ls`",
        )
    return _laid_over(ask, project, sku, _count(ask, sku), site.id if site else None, known)


def _check_sku(sku: Sku, policy: Policy) -> None:
    if not policy.allows(sku.name):
        raise Forbidden(
            f"sku: your tenant may lease {', '.join(policy.skus or ())}, not {sku.name}",
            code="sku_not_allowed",
            suggestion="ask for one of those, or ask the platform to allow more",
        )


def _residency(ask: Ask, site: Site | Problem | None, policy: Policy) -> frozenset[str]:
    """What will be true of wherever it is placed."""
    tags = site.tags if isinstance(site, Site) else ()
    return frozenset({*ask.terms.residency, *policy.residency, *tags})


def _laid_over(
    ask: Ask, project: Project, sku: Sku, gpus: int, site_id: SiteId | None, known: Known
) -> Want:
    bare = Request(sku.family, sku.shape, gpus, site_id, ask.nodes)
    policy = known.policies[project.tenant_id]
    request = overlays.lay_over(bare, policy, ask.terms, _nodes_apart(ask, project, known))
    tenant, org = project.tenant_id, project.organization_id
    in_all = gpus * ask.nodes
    hourly = in_all * sku.price_micros_per_gpu_hour
    whole = ask.nodes if sku.shape is Shape.BAREMETAL else 0
    demand = Demand(tenant, org, project.id, sku.family, in_all, whole, sku.currency, hourly)
    rate = Rate(tenant, sku.currency, hourly)
    return Want(ask, project, sku, request, policy, demand, rate)


def _nodes_apart(ask: Ask, project: Project, known: Known) -> tuple[str, ...]:
    """Where those are now that it must stay apart from, whoever asked for that. One that has
    ended keeps nobody away; of one that waits the round knows when it is placed."""
    nodes = [*known.named_by.get(ask.id, ())]
    for id in ask.terms.apart_from:
        lease = known.leases.get(id)
        if lease is None or not _sees(ask, lease) or lease.tenant_id != project.tenant_id:
            raise Invalid(
                f"apart_from: there is no allocation {id!r}",
                code="unknown_allocation",
                suggestion="name leases of the project's own tenant",
            )
        if lease.freed_at is None and lease.node_id is not None:
            nodes.append(lease.node_id)
    return tuple(nodes)


def _sees(ask: Ask, lease: Allocation) -> bool:
    where = lease.tenant_id, lease.organization_id, lease.project_id
    return permits(ask.actor, "allocation.view", Resource("allocation", lease.id, *where))


def _check_end(tx: Tx, ask: Ask) -> None:
    if ask.ends_at is not None and ask.ends_at <= tx.now:
        raise Invalid(f"ends_at: {ask.ends_at.isoformat()} has passed; a lease ends after it began")


async def again(tx: Tx, waiting: Sequence[Allocation]) -> list[Want]:
    """What those want that wait. They were permitted to when they asked; policy is today's.

    Left out, and so neither placed nor in anyone's way, is who may lease nothing new today: its
    tenant is not active, or may not have that SKU any more.
    """
    if not waiting:
        return []
    asks = [_asked(allocation) for allocation in waiting]
    names = Names(asks)
    await ask_all(tx, names.questions)
    standing = Standing(names.projects.answer)
    await ask_all(tx, standing.questions)
    known = await look_up(tx, asks, names, standing, waited=True)
    owners = {project.id: project for project in known.projects}
    skus = {sku.id: sku for sku in known.skus}
    return [
        replace(
            _laid_over(
                ask, owners[a.project_id], skus[a.sku_id], a.gpus, a.wait.asked_site_id, known
            ),
            waited=a,
        )
        for ask, a in zip(asks, waiting, strict=True)
        if known.statuses[a.tenant_id] is Status.ACTIVE
        and known.policies[a.tenant_id].allows(a.sku_name)
    ]


def _asked(allocation: Allocation) -> Ask:
    wait = allocation.wait
    return Ask(
        actor=SYSTEM,
        project=allocation.project_id,
        sku=allocation.sku_id,
        gpus=allocation.gpus,
        site=None,
        correlation_id=allocation.correlation_id,
        terms=wait.terms,
        queue=True,
        priority=wait.priority,
        ends_at=wait.ends_at,
        nodes=allocation.nodes,
        id=allocation.id,
    )


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
