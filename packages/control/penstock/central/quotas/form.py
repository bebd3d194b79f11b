"""A limit as it is written, over HTTP and in the files of tenants and templates."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from penstock.central.quotas.model import Kind, Measure
from penstock.kernel.http.web import Body, View
from penstock.kernel.names import Currency, Name

Count = Annotated[int, Field(ge=0, le=1_000_000)]
Bytes = Annotated[int, Field(ge=0, le=2**53 - 1)]  # what every JSON reader keeps exact
Micros = Annotated[int, Field(ge=0, le=10**15)]


class Limit(Body):
    """Exactly one of: GPUs at once (no family: of all families together), whole nodes at once,
    clusters at once, bytes of all volumes together (below 8 PiB, so that every JSON reader keeps
    them exact), VLANs at once, or what may be spent in a calendar month (UTC), in micro-units of a
    currency. No clusters and volumes exist yet: of those limits nothing is used."""

    family: Name | None = None
    gpus_max: Count | None = None
    nodes_max: Count | None = None
    clusters_max: Count | None = None
    volumes_bytes_max: Bytes | None = None
    vlans_max: Count | None = None
    spend_micros_max: Micros | None = None
    currency: Currency | None = None

    @model_validator(mode="after")
    def one_kind(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError(f"give one of {', '.join(kind.field for kind in Kind)}")
        if self.family is not None and self.gpus_max is None:
            raise ValueError("a family goes with gpus_max, and with nothing else")
        if (self.currency is None) != (self.spend_micros_max is None):
            raise ValueError("a currency goes with spend_micros_max, and that with a currency")
        return self

    def _given(self) -> dict[Kind, int]:
        every: dict[Kind, int | None] = {kind: getattr(self, kind.field) for kind in Kind}
        return {kind: most for kind, most in every.items() if most is not None}

    @property
    def measure(self) -> Measure:
        (kind,) = self._given()
        return Measure(kind, self.family or "", self.currency or "")

    @property
    def most(self) -> int:
        (most,) = self._given().values()
        return most


def _one_each(limits: list[Limit]) -> list[Limit]:
    if len({limit.measure for limit in limits}) != len(limits):
        raise ValueError("each may be limited once")
    return limits


Limits = Annotated[list[Limit], Field(max_length=64), AfterValidator(_one_each)]


def by_measure(limits: list[Limit]) -> dict[Measure, int]:
    return {limit.measure: limit.most for limit in limits}


class LimitView(View):
    """All `_max` but one are null."""

    family: str | None
    gpus_max: int | None
    nodes_max: int | None = None
    clusters_max: int | None = None
    volumes_bytes_max: int | None = None
    vlans_max: int | None = None
    spend_micros_max: int | None = None
    currency: str | None = None

    @classmethod
    def of(cls, measure: Measure, most: int) -> "LimitView":
        every = {kind.field: most if kind is measure.kind else None for kind in Kind}
        return cls(family=measure.family or None, currency=measure.currency or None, **every)
