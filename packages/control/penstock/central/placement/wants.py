"""From what was asked (names) to what is wanted (a SKU, a project, a solver's request)."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.central.access.authorization import Resource, authorize
from penstock.central.allocations.model import Allocation
from penstock.central.allocations.wait import PRIORITY_DEFAULT
from penstock.central.placement.queue import Ask
from penstock.central.projects import service as projects
from penstock.central.projects.model import Project
from penstock.central.sites import service as site_service
from penstock.central.sites.model import Site
from penstock.central.skus import service as sku_service
from penstock.central.skus.model import Sku
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound, Problem
from penstock.placement.model import Request
from penstock_contracts.ids import SiteId


@dataclass(frozen=True)
class Want:
    ask: Ask
    project: Project
    sku: Sku
    request: Request
    waited: Allocation | None = None  # it waits already: since when, and how


async def resolve(tx: Tx, asks: Sequence[Ask]) -> dict[str, Want | Problem]:
    """By ask id: what each wants, or why it cannot want that."""
    found_projects = await projects.find(tx, [ask.project for ask in asks])
    found_skus = await sku_service.find(tx, [ask.sku for ask in asks])
    sites: dict[str, Site | Problem] = {}
    for ask in asks:
        if ask.site is not None and ask.site not in sites:
            try:
                sites[ask.site] = await site_service.get(tx, SYSTEM, ask.site)
            except NotFound as missing:
                sites[ask.site] = missing
    wants: dict[str, Want | Problem] = {}
    for ask in asks:
        try:
            wants[ask.id] = _want(ask, found_projects, found_skus, sites)
            _check_end(tx, ask)
        except Problem as refusal:
            wants[ask.id] = refusal
    return wants


def _want(
    ask: Ask, found: list[Project], skus: list[Sku], sites: dict[str, Site | Problem]
) -> Want:
    project = projects.pick(found, ask.actor, ask.project)
    about = Resource("project", project.id, project.tenant_id)
    authorize(ask.actor, "allocation.create", about)
    if ask.priority > PRIORITY_DEFAULT:
        authorize(ask.actor, "allocation.prioritize", about)
    sku = next((sku for sku in skus if ask.sku in (sku.id, sku.name)), None)
    if sku is None:
        raise Invalid(
            f"sku: there is no SKU {ask.sku!r}",
            code="unknown_sku",
            suggestion="`penstock sku ls` lists what can be leased",
        )
    site = sites.get(ask.site) if ask.site else None
    if isinstance(site, Problem):
        raise Invalid(f"site: {site.detail}", code="unknown_site")
    request = request_of(sku, _count(ask, sku), site.id if site else None)
    return Want(ask, project, sku, request)


def request_of(sku: Sku, gpus: int, site_id: SiteId | None) -> Request:
    return Request(sku.family, sku.shape, gpus, site_id)


def _check_end(tx: Tx, ask: Ask) -> None:
    if ask.ends_at is not None and ask.ends_at <= tx.now:
        raise Invalid(f"ends_at: {ask.ends_at.isoformat()} has passed; a lease ends after it began")


async def again(tx: Tx, waiting: Sequence[Allocation]) -> list[Want]:
    """What those want that wait. They were permitted to when they asked."""
    if not waiting:
        return []
    owners = {p.id: p for p in await projects.find(tx, [a.project_id for a in waiting])}
    skus = {sku.id: sku for sku in await sku_service.find(tx, [a.sku_id for a in waiting])}
    return [_again(a, owners[a.project_id], skus[a.sku_id]) for a in waiting]


def _again(allocation: Allocation, project: Project, sku: Sku) -> Want:
    wait = allocation.wait
    ask = Ask(
        actor=SYSTEM,
        project=project.id,
        sku=sku.id,
        gpus=allocation.gpus,
        site=wait.asked_site_id,
        correlation_id=allocation.correlation_id,
        queue=True,
        priority=wait.priority,
        ends_at=wait.ends_at,
        id=allocation.id,
    )
    return Want(
        ask, project, sku, request_of(sku, allocation.gpus, wait.asked_site_id), waited=allocation
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
