"""The conditions of a binding, as the API takes and shows them."""

from collections.abc import Sequence
from typing import Annotated, Final, cast

from pydantic import Field, model_validator

from penstock.central.bindings.model import Conditions
from penstock.kernel.http.web import Body, View
from penstock.kernel.names import Names, Tag

REQUIRED: Final = "required"
Weekday = Annotated[int, Field(ge=1, le=7)]


class Hours(Body):
    """UTC, whole hours: from the first, until just before the second. May span midnight."""

    begin: Annotated[int, Field(ge=0, le=23)]
    end: Annotated[int, Field(ge=0, le=24)]

    @model_validator(mode="after")
    def _some_time(self) -> "Hours":
        if self.begin == self.end:
            raise ValueError("it must last some time")
        return self


class NewConditions(Body):
    """The binding counts only if all of them hold. What is left out is no condition."""

    families: Names | None = None  # leases only of these GPU families
    residency: Annotated[list[Tag], Field(min_length=1, max_length=32)] | None = None
    hours: Hours | None = None
    weekdays: Annotated[list[Weekday], Field(min_length=1, max_length=7)] | None = None
    second_factor: bool = False

    def stored(self) -> Conditions:
        """Each is a list, so that one reader can read them all."""
        said: dict[str, Sequence[object]] = {}
        if self.families:
            said["families"] = list(self.families)
        if self.residency:
            said["residency"] = sorted(set(self.residency))
        if self.hours:
            said["hours"] = [self.hours.begin, self.hours.end]
        if self.weekdays:
            said["weekdays"] = sorted(set(self.weekdays))
        if self.second_factor:
            said["second_factor"] = [REQUIRED]
        return said


class HoursView(View):
    begin: int
    end: int


class ConditionsView(View):
    families: list[str] | None
    residency: list[str] | None
    hours: HoursView | None
    weekdays: list[int] | None
    second_factor: bool

    @classmethod
    def of(cls, stored: Conditions) -> "ConditionsView":
        hours = cast("list[int]", stored.get("hours"))
        return cls(
            families=cast("list[str] | None", stored.get("families")),
            residency=cast("list[str] | None", stored.get("residency")),
            hours=HoursView(begin=hours[0], end=hours[1]) if hours else None,
            weekdays=cast("list[int] | None", stored.get("weekdays")),
            second_factor="second_factor" in stored,
        )
