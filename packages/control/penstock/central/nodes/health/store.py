"""All SQL that touches the node_health table."""

from collections.abc import Sequence
from dataclasses import asdict

import asyncpg

from penstock.central.nodes.health.model import Discrepancy, NodeHealth, Problem
from penstock.kernel.db import Tx
from penstock_contracts.ids import NodeId


async def find(tx: Tx, ids: Sequence[NodeId]) -> dict[str, NodeHealth]:
    """Of those nodes with which anything ever was wrong."""
    rows = await tx.fetch("SELECT * FROM node_health WHERE node_id = ANY($1)", list(ids))
    return {row["node_id"]: _health(row) for row in rows}


async def save(tx: Tx, id: NodeId, health: NodeHealth) -> None:
    await tx.execute(
        """
        INSERT INTO node_health (node_id, problems, problems_more, discrepancies, changed_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (node_id) DO UPDATE SET problems = excluded.problems,
            problems_more = excluded.problems_more, discrepancies = excluded.discrepancies,
            changed_at = excluded.changed_at
        """,
        id,
        [asdict(one) for one in health.problems],
        health.problems_more,
        [asdict(one) for one in health.discrepancies],
        tx.now,
    )


def _health(row: asyncpg.Record) -> NodeHealth:
    return NodeHealth(
        tuple(Problem(**one) for one in row["problems"]),
        row["problems_more"],
        tuple(Discrepancy(**one) for one in row["discrepancies"]),
        row["changed_at"],
    )
