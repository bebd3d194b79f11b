"""Organizations and projects, each with what it may hold."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from penstock.central.onboardings import limits
from penstock.central.onboardings.file import WantedOrganization, WantedProject
from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.limits import Change
from penstock.central.onboardings.model import Did
from penstock.central.organizations import service as organizations
from penstock.central.organizations.model import Organization
from penstock.central.projects import service as projects
from penstock.central.quotas import service as quotas
from penstock.central.quotas.form import by_measure
from penstock.central.quotas.model import Level, Scope
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict


async def do(tx: Tx, job: Job) -> Did:
    made: list[str] = []
    changes: list[Change] = []
    for wanted in job.file.organizations:
        changes += await _organization(tx, job, wanted, made)
    if not made and not changes:
        return Did("they are so already", changed=False)
    limited = f"{len(changes)} limits changed" if changes else ""
    return Did(", ".join(filter(None, [*made, limited])), before={"limits": changes})


async def _organization(
    tx: Tx, job: Job, wanted: WantedOrganization, made: list[str]
) -> list[Change]:
    """Limits go up from the outside in."""
    found = await organizations.named(tx, job.tenant_id, wanted.name)
    if found is None:
        found = await organizations.found(tx, job.actor, job.tenant_id, wanted.name)
        made.append(wanted.name)
    changes: list[Change] = []
    if wanted.quotas is not None:
        scope = Scope(Level.ORGANIZATION, found.id, job.tenant_id, found.id)
        changes += await limits.bring(tx, job.actor, scope, by_measure(wanted.quotas))
    for project in wanted.projects:
        changes += await _project(tx, job, found, project, made)
    return changes


async def _project(
    tx: Tx, job: Job, within: Organization, wanted: WantedProject, made: list[str]
) -> list[Change]:
    found = await projects.named(tx, job.tenant_id, wanted.name)
    if found is None:
        found = await projects.create(
            tx, job.actor, name=wanted.name, tenant=job.tenant_id, organization=within.id
        )
        made.append(f"{within.name}/{wanted.name}")
    elif found.organization_id != within.id:
        raise Conflict(
            f"project {wanted.name} is in another organization than {within.name}; it cannot move",
            code="project_cannot_move",
            suggestion=f"name it under its own organization ({found.organization_id})",
        )
    if wanted.quotas is None:
        return []
    scope = Scope(Level.PROJECT, found.id, job.tenant_id, within.id)
    return await limits.bring(tx, job.actor, scope, by_measure(wanted.quotas))


async def undo(tx: Tx, job: Job, before: Before) -> str:
    if job.founded:
        await quotas.forget(tx, job.tenant_id)
        await projects.forget(tx, job.tenant_id)
        return "forgotten"
    kept = cast("Sequence[Mapping[str, Any]]", before.get("limits", ()))
    return f"limits {await limits.put_back(tx, job.actor, kept)}; what was made stays"
