"""All SQL that touches the skus table."""

import asyncpg

from penstock.central.skus.model import Sku
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict
from penstock.kernel.questions import Question
from penstock.placement.model import Shape
from penstock_contracts.ids import SkuId

COLUMNS = "id, name, shape, family, gpu_counts, price_micros_per_gpu_hour, currency, created_at"


def _sku(row: asyncpg.Record) -> Sku:
    return Sku(
        SkuId(row["id"]),
        row["name"],
        Shape(row["shape"]),
        row["family"],
        tuple(row["gpu_counts"]),
        row["price_micros_per_gpu_hour"],
        row["currency"],
        row["created_at"],
    )


async def add(tx: Tx, sku: Sku) -> None:
    added = await tx.execute(
        f"""
        INSERT INTO skus ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (name) DO NOTHING
        """,
        sku.id,
        sku.name,
        sku.shape,
        sku.family,
        list(sku.gpu_counts),
        sku.price_micros_per_gpu_hour,
        sku.currency,
        sku.created_at,
    )
    if not added:
        raise Conflict(f"there is a SKU named {sku.name!r} already", code="name_taken")


def meant(references: list[str]) -> Question[list[Sku]]:
    """By id or by name, whichever each reference is."""
    return Question(
        "SELECT s FROM skus s WHERE id = ANY($1) OR name = ANY($1)",
        (references,),
        lambda rows: [_sku(row) for row in rows],
    )


async def families(tx: Tx) -> set[str]:
    return {row["family"] for row in await tx.fetch("SELECT DISTINCT family FROM skus")}


async def page(tx: Tx, after: str, limit: int) -> list[Sku]:
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM skus WHERE id > $1 ORDER BY id LIMIT $2", after, limit
    )
    return [_sku(row) for row in rows]


async def every(tx: Tx) -> list[Sku]:
    return [_sku(row) for row in await tx.fetch(f"SELECT {COLUMNS} FROM skus ORDER BY name")]
