"""Why something does not fit into a quota. Pure."""

from penstock.central.quotas import words
from penstock.central.quotas.model import Kind, Level, Line
from penstock.kernel.errors import Conflict, Problem


def exceeded(line: Line, asked: int) -> Problem:
    measure, left = line.measure, max(0, line.room)
    return Conflict(
        _over(line, asked),
        code="quota_exceeded",
        suggestion=_instead(line, left),
        extras={
            "scope": line.level,
            "scope_id": line.scope_id,
            "kind": measure.kind,
            "family": measure.family or None,
            "currency": measure.currency or None,
            "limit": line.limit or 0,
            "used": line.used,
            "due": line.due,
            "asked": asked,
            "left": left,
        },
    )


def _over(line: Line, asked: int) -> str:
    measure, limit = line.measure, words.so_much(line.measure, line.limit or 0)
    who = f"{line.level} {line.scope_id}"
    if measure.kind is not Kind.SPEND:
        return (
            f"{who} holds {words.bare(measure, line.used)} of its {limit}; "
            f"{words.bare(measure, asked)} more do not fit"
        )
    return (
        f"{who} has spent {words.bare(measure, line.used)} of its {limit} this month, and an hour "
        f"of what it leases costs {words.bare(measure, line.due)}; "
        f"{words.bare(measure, asked)} more do not fit"
    )


def _instead(line: Line, left: int) -> str:
    who = "the platform" if line.level is Level.TENANT else "an admin of your tenant"
    raised = f"ask {who} for a higher limit"
    kind, less = line.measure.kind, words.bare(line.measure, left)
    if kind is Kind.VLANS:
        return f"ask for {less} or fewer, or {raised}" if left else raised
    if kind is Kind.SPEND:
        return f"release a lease, wait for the next month, or {raised}"
    fewer = f"ask for {less} or {'less' if kind is Kind.VOLUMES else 'fewer'}, "
    freed = {Kind.CLUSTERS: "delete a cluster", Kind.VOLUMES: "delete a volume"}
    whole = kind is Kind.NODES  # a lease asks for one, and cannot ask for fewer
    return f"{fewer if left and not whole else ''}{freed.get(kind, 'release a lease')}, or {raised}"


def other_currency(line: Line, currency: str) -> Problem:
    """Else a limit on money would be none for whoever picks another currency."""
    return Conflict(
        f"what {line.level} {line.scope_id} spends is limited in {line.measure.currency}; "
        f"a SKU priced in {currency} cannot be counted in it",
        code="currency_mismatch",
        suggestion=f"choose a SKU priced in {line.measure.currency}, or have {currency} "
        "limited too",
        extras={"quota_currency": line.measure.currency, "sku_currency": currency},
    )
