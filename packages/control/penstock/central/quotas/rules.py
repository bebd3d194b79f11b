"""Which limits may be set. Pure: what is used and the other limits are given."""

from collections.abc import Mapping, Sequence

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


def refuse_parts(limits: Mapping[Measure, int]) -> None:
    """Limits for one scope, as they are written: a part is not more than the whole."""
    for whole, most in limits.items():
        for part, more in limits.items():
            if whole.includes(part) and more > most:
                raise Invalid(
                    f"quotas: {words.so_much(part, more)} are more than the "
                    f"{words.so_much(whole, most)} of all families together",
                    code="quota_above_parent",
                )


def refusal(wanted: Limit, used: int, others: Sequence[Limit]) -> Problem | None:
    """Why a limit cannot be set, or None. `others` are the tenant's limits of the same kind."""
    if wanted.most < used:
        return _below_use(wanted, used)
    return _above(wanted, others) or _below(wanted, others)


def _below_use(wanted: Limit, used: int) -> Problem:
    measure = wanted.measure
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


def _above(wanted: Limit, others: Sequence[Limit]) -> Problem | None:
    around = [other for other in others if other.bounds(wanted)]
    tightest = min(around, key=lambda other: other.most, default=None)
    if tightest is None or wanted.most <= tightest.most:
        return None
    inner = "it" if wanted.scope == tightest.scope else f"{wanted.scope} within it"
    return Conflict(
        f"{tightest.scope} {words.may_use(tightest.measure, tightest.most)}; "
        f"{inner} cannot be given {_much(wanted, tightest)}",
        code="quota_above_parent",
        suggestion=f"set it to {words.bare(wanted.measure, tightest.most)} or less, "
        "or raise the other first",
        extras=_said(tightest),
    )


def _below(wanted: Limit, others: Sequence[Limit]) -> Problem | None:
    inside = [other for other in others if wanted.bounds(other)]
    widest = max(inside, key=lambda other: other.most, default=None)
    if widest is None or widest.most <= wanted.most:
        return None
    outer = "it" if wanted.scope == widest.scope else f"{wanted.scope} around it"
    return Conflict(
        f"{widest.scope} {words.may_use(widest.measure, widest.most)}; "
        f"{outer} cannot be limited to {_much(wanted, widest)}",
        code="quota_below_child",
        suggestion=f"set it to {words.bare(wanted.measure, widest.most)} or more, "
        "or lower the other first",
        extras=_said(widest),
    )


def _much(wanted: Limit, other: Limit) -> str:
    """With what it is of, where the other is of something else."""
    same = wanted.measure == other.measure
    return (words.bare if same else words.so_much)(wanted.measure, wanted.most)


def _said(other: Limit) -> dict[str, object]:
    return {
        "scope": other.scope.level,
        "scope_id": other.scope.id,
        "family": other.measure.family or None,
        "limit": other.most,
    }
