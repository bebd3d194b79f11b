"""Keycloak's admin REST API: calls that end in time, with faults of the closed set."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, cast

import httpx2

from penstock_contracts.drivers.faults import (
    Conflict,
    CredentialsRejected,
    DriverFault,
    RateLimited,
    Transient,
)

TIMEOUT_S: Final = 10.0
RETRY_S_MAX: Final = 60.0
RENEW_S: Final = 10.0  # before a token runs out
DENIED: Final = (401, 403)
NOT_NOW: Final = (408, 425)
TOO_MANY: Final = 429
Json = Mapping[str, object]


@dataclass(frozen=True)
class Answer:
    status: int
    body: object = None
    retry_after_s: float = 0.0

    @property
    def thing(self) -> Json:
        return cast("Json", self.body) if isinstance(self.body, dict) else {}

    @property
    def things(self) -> Sequence[Json]:
        listed = cast("list[object]", self.body) if isinstance(self.body, list) else []
        return [cast("Json", each) for each in listed if isinstance(each, dict)]


@dataclass
class Admin:
    """A service account of the master realm. Its token is got when needed."""

    address: str
    client_id: str
    secret: str = field(repr=False)
    timeout_s: float = TIMEOUT_S
    _token: str = field(default="", init=False, repr=False)
    _good_until: float = field(default=0.0, init=False, repr=False)

    async def call(
        self, method: str, path: str, body: object = None, *, expected: Sequence[int]
    ) -> Answer:
        """`path` is below /admin/realms. A status that is not expected is a fault."""
        url = f"{self.address}/admin/realms{path}"
        async with self._client() as client:
            answer = await self._authorized(client, method, url, body)
            if answer.status in DENIED and answer.status not in expected:
                self.renew()
                answer = await self._authorized(client, method, url, body)
        if answer.status not in expected:
            raise _fault(answer, f"{method} {url}")
        return answer

    def renew(self) -> None:
        """Get another token: one says what its holder might do when it was issued, so nothing
        of a realm that was made since."""
        self._token = ""

    async def public(self, path: str) -> Answer:
        """What a realm tells everyone; `path` is below /realms."""
        async with self._client() as client:
            return await _send(client, "GET", f"{self.address}/realms{path}")

    async def _authorized(
        self, client: httpx2.AsyncClient, method: str, url: str, body: object
    ) -> Answer:
        if not self._token or time.monotonic() >= self._good_until:
            await self._sign_in(client)
        headers = {"Authorization": f"Bearer {self._token}"}
        return await _send(client, method, url, body=body, headers=headers)

    async def _sign_in(self, client: httpx2.AsyncClient) -> None:
        url = f"{self.address}/realms/master/protocol/openid-connect/token"
        form = {"grant_type": "client_credentials", "client_id": self.client_id}
        answer = await _send(client, "POST", url, form={**form, "client_secret": self.secret})
        token, lives_s = answer.thing.get("access_token"), answer.thing.get("expires_in")
        if answer.status != 200 or not isinstance(token, str):
            if answer.status in (400, *DENIED):
                raise CredentialsRejected(f"{url} does not know client {self.client_id}")
            raise _fault(answer, f"POST {url}")
        self._token = token
        lives = float(lives_s) if isinstance(lives_s, int | float) else 0.0
        self._good_until = time.monotonic() + max(lives - RENEW_S, 0.0)

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(timeout=self.timeout_s, follow_redirects=False)


async def _send(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    *,
    body: object = None,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    try:
        response = await client.request(method, url, json=body, data=form, headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Transient(f"{method} {url}: {type(error).__name__}") from None
    said: object = None
    with suppress(ValueError):
        said = response.json() if response.content else None
    return Answer(response.status_code, said, _seconds(response.headers.get("retry-after", "")))


def _seconds(text: str) -> float:
    """A header's whole seconds, within a minute: a date there is as good as none."""
    return min(float(text), RETRY_S_MAX) if text.isascii() and text.isdigit() else 0.0


def _fault(answer: Answer, what: str) -> DriverFault:
    said = answer.thing.get("errorMessage") or answer.thing.get("error") or "no reason is given"
    message = f"{what} answered {answer.status}: {str(said)[:200]}"
    if answer.status in DENIED:
        return CredentialsRejected(message)
    if answer.status == TOO_MANY:
        return RateLimited(message, answer.retry_after_s)
    if answer.status >= 500 or answer.status in NOT_NOW:
        return Transient(message)
    return Conflict(message)
