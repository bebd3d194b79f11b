"""What whoever asks could ask for instead, and what they may know of the fleet."""

from dataclasses import dataclass, field, replace

from penstock.placement.kinds.cohorts import Traits
from penstock.placement.requests import Overlay, Request
from penstock.placement.solving import screens


@dataclass(frozen=True)
class Alternative:
    """Something else that may be leased: the same shape and size of another family."""

    sku: str
    family: str


@dataclass(frozen=True)
class Leeway:
    """`counts` are sizes of what was asked for. `policy` is the tenant's, without what the
    request adds to it. `sees_all`: may be told of nodes that the tenant may not use."""

    counts: tuple[int, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    policy: Overlay = field(default_factory=Overlay)
    sees_all: bool = False

    def knows(self, request: Request, traits: Traits) -> bool:
        """Whether nodes with these traits may be named: the tenant could use one, some time."""
        if self.sees_all:
            return True
        bare = replace(request, **{**vars(self.policy), "site_id": None})
        return all(rule(bare, traits) for rule in screens.REACH)
