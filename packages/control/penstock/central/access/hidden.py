"""What exists, whoever's it is: for the audit log, never for an answer."""

from collections.abc import Collection

from penstock.kernel.db import Tx
from penstock.kernel.denials import Thing


async def existing(tx: Tx, things: Collection[Thing]) -> set[Thing]:
    """Those of them that are there. Only the system's transaction sees all."""
    rows = await tx.fetch(
        "SELECT noun, reference FROM known_things WHERE reference = ANY($1)",
        sorted({reference for _, reference in things}),
    )
    return {(row["noun"], row["reference"]) for row in rows} & set(things)
