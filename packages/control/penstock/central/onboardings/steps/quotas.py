"""The quotas: what the tenant may lease, where, and how much of it.

Whatever comes down in its organizations and projects comes down first: a limit is never below
those within it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from penstock.central.onboardings import intents, limits
from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.limits import Change
from penstock.central.onboardings.model import Did
from penstock.central.organizations import service as organizations
from penstock.central.policies import service as policies
from penstock.central.policies.model import Policy
from penstock.central.projects import service as projects
from penstock.central.quotas import service as quotas
from penstock.central.quotas.form import by_measure
from penstock.central.quotas.model import Level, Scope
from penstock.kernel.db import Tx
from penstock.placement.model import Strategy
from penstock_contracts.ids import SiteId, TenantId


async def do(tx: Tx, job: Job) -> Did:
    intent = await intents.of(tx, job.file)
    before: dict[str, object] = {}
    details: list[str] = []
    if intent.policy is not None:
        old = (await policies.find(tx, [job.tenant_id]))[job.tenant_id]
        wanted = replace(intent.policy, weight=old.weight)  # which no file and no template says
        new = await policies.put(tx, job.actor, job.tenant_id, wanted, wanted.sites)
        if new != old:
            before["policy"] = asdict(old)
            details.append(f"placement policy {new.revision}")
    if intent.quotas is not None:
        scope = Scope(Level.TENANT, job.tenant_id, job.tenant_id)
        changes = [*await _lower_within(tx, job)]
        changes += await limits.bring(tx, job.actor, scope, intent.quotas)
        if changes:
            before["limits"] = changes
            details.append(limits.said(scope, intent.quotas))
    if not details:
        return Did("they are so already", changed=False)
    return Did("; ".join(details), before=before)


async def _lower_within(tx: Tx, job: Job) -> list[Change]:
    """Projects before the organizations around them."""
    changes: list[Change] = []
    for wanted in job.file.organizations:
        organization = await organizations.named(tx, job.tenant_id, wanted.name)
        if organization is None:
            continue
        for each in wanted.projects:
            project = await projects.named(tx, job.tenant_id, each.name)
            if project is not None and each.quotas is not None:
                scope = Scope(Level.PROJECT, project.id, job.tenant_id, project.organization_id)
                changes += await limits.lower(tx, job.actor, scope, by_measure(each.quotas))
        if wanted.quotas is not None:
            scope = Scope(Level.ORGANIZATION, organization.id, job.tenant_id, organization.id)
            changes += await limits.lower(tx, job.actor, scope, by_measure(wanted.quotas))
    return changes


async def undo(tx: Tx, job: Job, before: Before) -> str:
    if job.founded:
        await quotas.forget(tx, job.tenant_id)
        await policies.forget(tx, job.tenant_id)
        return "forgotten"
    kept = cast("Sequence[Mapping[str, Any]]", before.get("limits", ()))
    detail = await limits.put_back(tx, job.actor, kept)
    if policy := before.get("policy"):
        old = _policy(job.tenant_id, cast("Mapping[str, Any]", policy))
        await policies.put(tx, job.actor, job.tenant_id, old, old.sites)
    return detail


def _policy(tenant_id: TenantId, kept: Mapping[str, Any]) -> Policy:
    """As it was kept. Its revision goes on counting."""

    def several(name: str) -> tuple[str, ...] | None:
        values: list[str] | None = kept[name]
        return None if values is None else tuple(values)

    sites = several("sites")
    return Policy(
        tenant_id,
        sites=None if sites is None else tuple(SiteId(id) for id in sites),
        families=several("families"),
        skus=several("skus"),
        images=several("images"),
        residency=several("residency") or (),
        strategy=Strategy(kept["strategy"]),
        price_micros_max=kept["price_micros_max"],
        weight=kept["weight"],
    )
