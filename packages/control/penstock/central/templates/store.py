"""All SQL that touches the templates table."""

import asyncpg

from penstock.central.templates.model import Template
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock.placement.model import Strategy
from penstock_contracts.ids import SiteId, TemplateId

COLUMNS = (
    "id, name, site_id, revision, skus, sites, images, families, residency, strategy, "
    "price_micros_max, quotas"
)


def _template(row: asyncpg.Record) -> Template:
    return Template(
        id=TemplateId(row["id"]),
        name=row["name"],
        site_id=SiteId(row["site_id"]) if row["site_id"] else None,
        revision=row["revision"],
        skus=_tuple(row["skus"]),
        sites=None if row["sites"] is None else tuple(SiteId(id) for id in row["sites"]),
        images=_tuple(row["images"]),
        families=_tuple(row["families"]),
        residency=tuple(row["residency"]),
        strategy=Strategy(row["strategy"]),
        price_micros_max=row["price_micros_max"],
        quotas=row["quotas"],
    )


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


async def find(tx: Tx, reference: str) -> Template | None:
    row = await tx.fetchrow(
        f"SELECT {COLUMNS} FROM templates WHERE id = $1 OR name = $1", reference
    )
    return _template(row) if row else None


async def get(tx: Tx, reference: str) -> Template:
    found = await find(tx, reference)
    if found is None:
        raise NotFound("template", reference)
    return found


async def page(tx: Tx, after: str, limit: int) -> list[Template]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM templates WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_template(row) for row in rows]


async def put(tx: Tx, actor: Actor, template: Template) -> None:
    await tx.execute(
        f"""
        INSERT INTO templates ({COLUMNS}, changed_at, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        ON CONFLICT (name) DO UPDATE SET site_id = $3, revision = $4, skus = $5, sites = $6,
            images = $7, families = $8, residency = $9, strategy = $10, price_micros_max = $11,
            quotas = $12, changed_at = $13, changed_by = $14
        """,
        template.id,
        template.name,
        template.site_id,
        template.revision,
        template.skus,
        template.sites,
        template.images,
        template.families,
        template.residency,
        template.strategy,
        template.price_micros_max,
        template.quotas,
        tx.now,
        actor.name,
    )
