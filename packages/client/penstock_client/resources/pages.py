"""Lists: following the API's opaque cursors to the end, or to a limit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar, cast

from penstock_client import errors
from penstock_client.requests import Request, Transport
from penstock_client.views.pages import Page

T = TypeVar("T", bound=Mapping[str, object])
PAGE_MAX: Final = 500  # of the API


def collect(
    transport: Transport, request: Request, kind: type[T], *, limit: int | None = None
) -> Page[T]:
    """Everything the list holds, or its first `limit` items and the cursor after them."""
    page = fetch(transport, request, kind, limit)
    items, cursor = page["items"], page["next"]
    while cursor is not None and (limit is None or len(items) < limit):
        left = None if limit is None else limit - len(items)
        onward = replace(request, query={**request.query, "cursor": cursor})
        page = fetch(transport, onward, kind, left)
        if page["next"] == cursor:
            raise errors.NotTheApi(f"{request.path} answers the same cursor for ever")
        items, cursor = items + page["items"], page["next"]
    return {"items": items, "next": cursor}


def fetch(transport: Transport, request: Request, kind: type[T], limit: int | None) -> Page[T]:
    if limit is not None:
        most = min(limit, PAGE_MAX)
        request = replace(request, query={**request.query, "limit": str(most)})
    body = transport.send(request)
    if not isinstance(body, dict) or "items" not in body:
        raise errors.NotTheApi(f"{request.path} did not answer with a list of {kind.__name__}")
    given = cast("dict[str, object]", body)
    return {"items": cast("list[T]", given["items"]), "next": cast("str | None", given.get("next"))}
