"""Which limits may be set. Pure: what is used and the other limits are given."""

from collections.abc import Sequence

from penstock.central.quotas import words
from penstock.central.quotas.model import Kind, Level, Limit, Measure
from penstock.kernel.errors import Conflict, Invalid, Problem


def refuse_level(level: Level, measure: Measure) -> None:
    if level not in measure.kind.levels:
        raise Invalid(
            f"{measure.kind.field}: {measure.kind} are counted for a whole tenant; "
            f"of {level}s they cannot be limited",
            suggestion="name the tenant instead",
        )


def refusal(wanted: Limit, measure: Measure, used: int, others: Sequence[Limit]) -> Problem | None:
    """Why a limit cannot be set, or None. `others` are limits of the same measure."""
    if wanted.most < used:
        return _below_use(wanted, measure, used)
    return _above(wanted, measure, others) or _below(wanted, measure, others)


def _below_use(wanted: Limit, measure: Measure, used: int) -> Problem:
    least = words.bare(measure, used)
    first = {
        Kind.CLUSTERS: "delete clusters first, or ",
        Kind.VOLUMES: "delete volumes first, or ",
        Kind.VLANS: "a network only grows; ",
        Kind.SPEND: "what is spent is spent; ",
    }.get(measure.kind, "release leases first, or ")
    return Conflict(
        f"{wanted.scope} {words.uses(measure, used)}; "
        f"it cannot be limited to {words.bare(measure, wanted.most)}",
        code="quota_below_use",
        suggestion=f"{first}set it to {least} or more",
        extras={"used": used, "limit": wanted.most},
    )


def _above(wanted: Limit, measure: Measure, others: Sequence[Limit]) -> Problem | None:
    around = [other for other in others if wanted.scope.within(other.scope)]
    tightest = min(around, key=lambda other: other.most, default=None)
    if tightest is None or wanted.most <= tightest.most:
        return None
    return Conflict(
        f"{tightest.scope} {words.may_use(measure, tightest.most)}; "
        f"{wanted.scope} within it cannot be given {words.bare(measure, wanted.most)}",
        code="quota_above_parent",
        suggestion=f"set it to {words.bare(measure, tightest.most)} or less, "
        "or raise the other first",
        extras={"scope": tightest.scope.level, "scope_id": tightest.scope.id,
                "limit": tightest.most},
    )  # fmt: skip


def _below(wanted: Limit, measure: Measure, others: Sequence[Limit]) -> Problem | None:
    inside = [other for other in others if other.scope.within(wanted.scope)]
    widest = max(inside, key=lambda other: other.most, default=None)
    if widest is None or widest.most <= wanted.most:
        return None
    return Conflict(
        f"{widest.scope} {words.may_use(measure, widest.most)}; "
        f"{wanted.scope} around it cannot be limited to {words.bare(measure, wanted.most)}",
        code="quota_below_child",
        suggestion=f"set it to {words.bare(measure, widest.most)} or more, "
        "or lower the other first",
        extras={"scope": widest.scope.level, "scope_id": widest.scope.id,
                "limit": widest.most},
    )  # fmt: skip
