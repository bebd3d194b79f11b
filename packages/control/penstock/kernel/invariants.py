"""Invariants are SQL views named `invariant_…` that are empty when all is well."""

from dataclasses import dataclass

from penstock.kernel.db import Tx


@dataclass(frozen=True)
class Invariant:
    name: str
    violations: int


async def check(tx: Tx) -> list[Invariant]:
    """Count the rows of every invariant view of this plane."""
    rows = await tx.fetch(
        """
        SELECT viewname FROM pg_views
        WHERE schemaname = 'public' AND viewname LIKE 'invariant\\_%' ORDER BY viewname
        """
    )
    checked: list[Invariant] = []
    for row in rows:
        view: str = row["viewname"]
        # The name comes from the catalog, not from a caller.
        count: int = await tx.fetchval(f'SELECT count(*) FROM "{view}"')  # noqa: S608
        checked.append(Invariant(view.removeprefix("invariant_"), count))
    return checked
