"""Cohorts: nodes that no rule of policy can tell apart.

The rules judge cohorts, so their cost grows with the kinds of nodes and not with the nodes.
The order of RULES is the order in which a node meets them; the first that it fails counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.placement.kinds.states import State
from penstock.placement.nodes import Node
from penstock.placement.requests import Request, Share

GPUS_MAX: Final = 64  # of one node; a mask of GPUs is one machine word


class Traits(NamedTuple):
    """All that a rule may know of a node."""

    site_id: str
    blocked: str
    tags: frozenset[str]
    reserved_for: str
    price_micros_per_gpu_hour: int
    divisible: bool

    @classmethod
    def of(cls, node: Node) -> "Traits":
        return cls(
            node.site_id, node.blocked, node.tags, node.reserved_for,
            node.price_micros_per_gpu_hour, node.divisible,
        )  # fmt: skip


class Cohort:
    """`sizes` counts nodes by their GPUs. `approved` and `free` count undivided nodes by how many
    GPUs they have of that; `complete` and `whole` count those that are that, by their GPUs.
    """

    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self.size = 0
        self.sizes: dict[int, int] = {}
        self.approved = [0] * (GPUS_MAX + 1)
        self.free = [0] * (GPUS_MAX + 1)
        self.complete: dict[int, int] = {}
        self.whole: dict[int, int] = {}

    def count(self, state: State, by: int) -> None:
        self.approved[state.approved] += by
        self.free[state.free] += by
        if state.complete:
            self.complete[state.gpus] = self.complete.get(state.gpus, 0) + by
        if state.whole:
            self.whole[state.gpus] = self.whole.get(state.gpus, 0) + by


@dataclass(frozen=True)
class Screen:
    """`own` are cohorts reserved for the tenant: used before the rest."""

    own: frozenset[Cohort]
    rest: frozenset[Cohort]
    allowed: frozenset[Cohort]  # both
    rejections: dict[str, int]


def site_allowed(asked: Request | Share, traits: Traits) -> bool:
    return asked.site_id is None or traits.site_id == asked.site_id


def site_permitted(asked: Request | Share, traits: Traits) -> bool:
    return asked.sites is None or traits.site_id in asked.sites


def resident(asked: Request | Share, traits: Traits) -> bool:
    return traits.tags.issuperset(asked.residency)


def affordable(asked: Request | Share, traits: Traits) -> bool:
    ceiling = asked.price_micros_max
    return ceiling is None or traits.price_micros_per_gpu_hour <= ceiling


def open_to_tenant(asked: Request | Share, traits: Traits) -> bool:
    return traits.reserved_for in ("", asked.tenant)


def schedulable(_asked: Request | Share, traits: Traits) -> bool:
    return not traits.blocked


def divided_as_asked(asked: Request | Share, traits: Traits) -> bool:
    return traits.divisible == isinstance(asked, Share)


Rule = Callable[[Request | Share, Traits], bool]
RULES: Final[tuple[Rule, ...]] = (
    site_allowed,
    site_permitted,
    resident,
    affordable,
    open_to_tenant,
    schedulable,
    divided_as_asked,
)


def failed(asked: Request | Share, traits: Traits) -> str | None:
    """The first rule that nodes with these traits fail."""
    return next((rule.__name__ for rule in RULES if not rule(asked, traits)), None)
