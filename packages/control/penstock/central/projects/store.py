"""All SQL that touches the projects table."""

import asyncpg

from penstock.central.access.authorization import Reach
from penstock.central.projects.model import Project
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock.kernel.questions import Question
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId

COLUMNS = "id, tenant_id, organization_id, name, created_at"


def _project(row: asyncpg.Record) -> Project:
    return Project(
        ProjectId(row["id"]),
        TenantId(row["tenant_id"]),
        OrganizationId(row["organization_id"]),
        row["name"],
        row["created_at"],
    )


async def add(tx: Tx, project: Project) -> None:
    added = await tx.execute(
        f"""
        INSERT INTO projects ({COLUMNS}) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (tenant_id, name) DO NOTHING
        """,
        project.id,
        project.tenant_id,
        project.organization_id,
        project.name,
        project.created_at,
    )
    if not added:
        raise Conflict(f"there is a project named {project.name!r} already", code="name_taken")


def meant(references: list[str], tenants: list[TenantId] | None) -> Question[list[Project]]:
    """By id or by name, whichever each reference is; by name only in these tenants, if any."""
    return Question(
        """
        SELECT p FROM projects p
        WHERE id = ANY($1) OR name = ANY($1) AND ($2::text[] IS NULL OR tenant_id = ANY($2))
        """,
        (references, tenants),
        lambda rows: [_project(row) for row in rows],
    )


async def page(tx: Tx, reach: Reach, after: str, limit: int) -> list[Project]:
    rows = await tx.fetch(
        f"""
        SELECT {COLUMNS} FROM projects
        WHERE id > $1 AND ($3 OR id = ANY($4) OR organization_id = ANY($5)) ORDER BY id LIMIT $2
        """,
        after,
        limit,
        reach.whole,
        reach.projects,
        reach.organizations,
    )
    return [_project(row) for row in rows]


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    await tx.execute("DELETE FROM projects WHERE tenant_id = $1", tenant_id)
