"""A list, as the API answers it."""

from typing import Generic, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    items: list[T]
    next: str | None
