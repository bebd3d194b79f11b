"""One thing, asked for or made."""

from collections.abc import Mapping
from typing import TypeVar, cast

from penstock_client import errors
from penstock_client.requests import Request, Transport

T = TypeVar("T", bound=Mapping[str, object])


def fetch(transport: Transport, request: Request, kind: type[T]) -> T:
    body = transport.send(request)
    if not isinstance(body, dict):
        raise errors.NotTheApi(f"{request.path} did not answer with a {kind.__name__}")
    return cast("T", body)
