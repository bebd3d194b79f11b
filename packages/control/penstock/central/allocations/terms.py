"""What a request may ask for on top of its tenant's policy, over HTTP."""

from typing import Annotated, Literal

from pydantic import Field

from penstock.central.policies.api import Ceiling
from penstock.central.policies.model import Terms
from penstock.kernel.http.web import Body
from penstock.kernel.names import Reference, Tags
from penstock.placement.model import Strategy

APART_MAX = 32


class NewTerms(Body):
    strategy: Literal["pack", "spread"] | None = None
    residency: Tags = Field(default_factory=list[str])
    price_micros_max: Ceiling | None = None
    # Leases of the same tenant: this one will share a node with none of them.
    apart_from: Annotated[list[Reference], Field(max_length=APART_MAX)] = Field(
        default_factory=list[str]
    )

    def terms(self) -> Terms:
        return Terms(
            strategy=Strategy(self.strategy) if self.strategy else None,
            residency=tuple(self.residency),
            price_micros_max=self.price_micros_max,
            apart_from=tuple(self.apart_from),
        )
