"""`--curl`: a transport that shows the call instead of making it."""

from collections.abc import Iterator

from penstock_client import requests
from penstock_client.requests import Request, ServerEvent


class Shown(Exception):
    """The call was shown as a curl command; nothing was sent."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.command = command


class Curl:
    def __init__(self, api: str) -> None:
        self.api = api.rstrip("/")

    def send(self, request: Request) -> object:
        raise Shown(requests.curl(self.api, request))

    def stream(
        self, request: Request, *, after: str | None, idle_s: float
    ) -> Iterator[ServerEvent]:
        raise Shown(requests.curl(self.api, request, stream=True))

    def close(self) -> None:
        pass
