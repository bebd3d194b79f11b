"""Lists: pages in order of id, opaque cursors."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel

from penstock.kernel.errors import Invalid

R = TypeVar("R")
V = TypeVar("V")


class Page(BaseModel, Generic[V]):
    items: list[V]
    next: str | None = None


class Paging:
    """Where a page starts and how long it is. Fetch `fetch` rows: one more tells of a next page."""

    def __init__(
        self,
        cursor: Annotated[str | None, Query(max_length=200)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> None:
        self.after = _decode(cursor) if cursor else ""
        self.limit = limit
        self.fetch = limit + 1

    def page(self, rows: Sequence[R], view: Callable[[R], V], id: Callable[[R], str]) -> Page[V]:
        shown = rows[: self.limit]
        more = len(rows) > self.limit
        cursor = base64.urlsafe_b64encode(id(shown[-1]).encode()).decode() if more else None
        return Page(items=[view(row) for row in shown], next=cursor)


PageQuery = Annotated[Paging, Depends()]


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:  # not ASCII, not base64, or not ASCII inside
        raise Invalid("the cursor is not one that this API gave; start without it") from None
