"""A call to the API as a value, and the two things that can be done with one."""

import ipaddress
import json
import shlex
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

Body = Mapping[str, object]
READABLE: Final = " !#$&'()*+,/:;=?@[]"  # in a header, as it is


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Body | None = None
    idempotency_key: str | None = None
    reason: str | None = None  # for the audit log, if it changes something

    def url(self, api: str) -> str:
        return f"{api}{self.path}" + (f"?{urlencode(self.query)}" if self.query else "")

    def headers(self) -> dict[str, str]:
        """All that can be shown: the token is not among them."""
        headers: dict[str, str] = {}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        if self.reason is not None and self.method != "GET":
            headers["X-Reason"] = quote(self.reason.strip(), safe=READABLE)
        return headers


@dataclass(frozen=True)
class ServerEvent:
    """One message of a stream; `id` is where to resume after it."""

    id: str
    data: str


class Transport(Protocol):
    """What carries requests to the API."""

    def send(self, request: Request) -> object:
        """The JSON of the answer. Raises ClientError; a POST is safe to send again."""
        ...

    def stream(
        self, request: Request, *, after: str | None, idle_s: float
    ) -> Iterator[ServerEvent]:
        """Messages after the one with id `after`, until the server or silence ends them."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Because:
    """A transport that says why, with every change."""

    transport: Transport
    reason: str

    def send(self, request: Request) -> object:
        return self.transport.send(replace(request, reason=self.reason))

    def stream(
        self, request: Request, *, after: str | None, idle_s: float
    ) -> Iterator[ServerEvent]:
        return self.transport.stream(request, after=after, idle_s=idle_s)

    def close(self) -> None:
        self.transport.close()


def get(*parts: str, **query: object) -> Request:
    return Request("GET", path(*parts), {k: str(v) for k, v in query.items() if v is not None})


def post(*parts: str, **body: object) -> Request:
    """A POST with a key of its own, so that sending it twice does it once."""
    given = {key: value for key, value in body.items() if value is not None}
    return Request("POST", path(*parts), body=given, idempotency_key=str(uuid.uuid4()))


def patch(body: Body, *parts: str) -> Request:
    """A change of what `body` names, and of nothing else; null is a value, too."""
    return Request("PATCH", path(*parts), body=body)


def put(body: Body, *parts: str) -> Request:
    return Request("PUT", path(*parts), body=body)


def delete(*parts: str, **query: object) -> Request:
    return Request("DELETE", path(*parts), {k: str(v) for k, v in query.items() if v is not None})


def path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def curl(api: str, request: Request, *, stream: bool = False) -> str:
    """The same call for a shell. The token stays in the caller's environment."""
    words = ["curl", "--no-buffer"] if stream else ["curl"]
    if request.method != "GET":
        words += ["-X", request.method]
    words += [shlex.quote(request.url(api)), "-H", '"Authorization: Bearer $PENSTOCK_TOKEN"']
    for name, value in request.headers().items():
        words += ["-H", shlex.quote(f"{name}: {value}")]
    if request.body is not None:
        words += ["-d", shlex.quote(json.dumps(request.body))]
    return " ".join(words)


def is_loopback(api: str) -> bool:
    try:
        host = urlsplit(api).hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
