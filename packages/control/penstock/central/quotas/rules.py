"""Which limits may be set. Pure: what is held and the other limits are given."""

from collections.abc import Sequence

from penstock.central.quotas.model import Limit, kind
from penstock.kernel.errors import Conflict, Problem


def refusal(wanted: Limit, family: str, used: int, others: Sequence[Limit]) -> Problem | None:
    """Why a limit cannot be set, or None. `others` are limits of the same family."""
    if wanted.gpus_max < used:
        return Conflict(
            f"{wanted.scope} holds {kind(family, used)} now; "
            f"it cannot be limited to {wanted.gpus_max}",
            code="quota_below_use",
            suggestion=f"release leases first, or set it to {used} or more",
            extras={"used": used},
        )
    return _above(wanted, family, others) or _below(wanted, family, others)


def _above(wanted: Limit, family: str, others: Sequence[Limit]) -> Problem | None:
    around = [other for other in others if wanted.scope.within(other.scope)]
    tightest = min(around, key=lambda other: other.gpus_max, default=None)
    if tightest is None or wanted.gpus_max <= tightest.gpus_max:
        return None
    return Conflict(
        f"{tightest.scope} may hold {kind(family, tightest.gpus_max)}; "
        f"{wanted.scope} within it cannot be given {wanted.gpus_max}",
        code="quota_above_parent",
        suggestion=f"set it to {tightest.gpus_max} or less, or raise the other first",
        extras={"scope": tightest.scope.level, "scope_id": tightest.scope.id,
                "limit": tightest.gpus_max},
    )  # fmt: skip


def _below(wanted: Limit, family: str, others: Sequence[Limit]) -> Problem | None:
    inside = [other for other in others if other.scope.within(wanted.scope)]
    widest = max(inside, key=lambda other: other.gpus_max, default=None)
    if widest is None or widest.gpus_max <= wanted.gpus_max:
        return None
    return Conflict(
        f"{widest.scope} was given {kind(family, widest.gpus_max)}; "
        f"{wanted.scope} around it cannot be limited to {wanted.gpus_max}",
        code="quota_below_child",
        suggestion=f"set it to {widest.gpus_max} or more, or lower the other first",
        extras={"scope": widest.scope.level, "scope_id": widest.scope.id,
                "limit": widest.gpus_max},
    )  # fmt: skip
