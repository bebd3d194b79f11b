"""Invariants: what must always be true, and what is found where it is not.

Most are SQL views named `invariant_…` that are empty when all is well. What SQL cannot say,
a plane adds as a check of its own.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.kernel.db import Tx

FOUND_MAX: Final = 20


@dataclass(frozen=True)
class Invariant:
    """`found` are the first violations, each as fields that name it."""

    name: str
    violations: int
    found: tuple[dict[str, object], ...] = ()


Check = Callable[[Tx], Awaitable[Invariant]]


async def check(tx: Tx, others: Sequence[Check] = ()) -> list[Invariant]:
    """Every invariant view of this plane, then its other checks."""
    rows = await tx.fetch(
        """
        SELECT viewname FROM pg_views
        WHERE schemaname = 'public' AND viewname LIKE 'invariant\\_%' ORDER BY viewname
        """
    )
    checked = [await _check_view(tx, row["viewname"]) for row in rows]
    return checked + [await other(tx) for other in others]


async def _check_view(tx: Tx, view: str) -> Invariant:
    # The name comes from the catalog, not from a caller.
    (row,) = await tx.fetch(
        f"""
        WITH found AS MATERIALIZED (SELECT * FROM "{view}")
        SELECT count(*) AS violations, (
            SELECT coalesce(jsonb_agg(to_jsonb(first)), '[]')
            FROM (SELECT * FROM found LIMIT $1) AS first) AS found
        FROM found
        """,  # noqa: S608
        FOUND_MAX,
    )
    return Invariant(view.removeprefix("invariant_"), row["violations"], tuple(row["found"]))
