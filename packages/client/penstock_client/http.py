"""Requests over HTTP. The only file that imports the HTTP library."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

import httpx2

from penstock_client import VERSION, errors, secrets
from penstock_client.requests import Request, ServerEvent, is_loopback

RETRIES: Final = 3
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 30.0
TIMEOUT: Final = httpx2.Timeout(30.0, connect=5.0)
FAILED: Final = (httpx2.RequestError, httpx2.InvalidURL, UnicodeEncodeError)
Pause = Callable[[float], None]
Token = str | Callable[[], str]


class Http:
    """A transport that tries again what failed on the way, with the same idempotency key."""

    def __init__(self, api: str, token: Token, *, pause: Pause = time.sleep) -> None:
        self.api = api.rstrip("/")
        self.pause = pause
        self.token = token
        self.client = connect(self.api)

    def close(self) -> None:
        self.client.close()

    def send(self, request: Request) -> object:
        for attempt in range(RETRIES):
            try:
                response = self._send_once(request)
            except errors.Unreachable:
                self.pause(backoff_s(attempt))
                continue
            if response.status_code not in errors.NOT_NOW:
                return answer(response)
            self.pause(retry_after_s(response, attempt))
        return answer(self._send_once(request))

    def _send_once(self, request: Request) -> httpx2.Response:
        try:
            return self.client.request(
                request.method,
                request.url(self.api),
                headers={**request.headers(), **self._authorization()},
                json=request.body,
            )
        except FAILED as error:
            raise failure(self.api, error) from None

    def stream(
        self, request: Request, *, after: str | None, idle_s: float
    ) -> Iterator[ServerEvent]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        headers |= self._authorization()
        if after is not None:
            headers["Last-Event-ID"] = after
        timeout = httpx2.Timeout(TIMEOUT.connect, read=idle_s)
        opened = False
        try:
            with self.client.stream(
                request.method, request.url(self.api), headers=headers, timeout=timeout
            ) as response:
                if response.status_code != 200:
                    response.read()
                    answer(response)
                opened = True
                for event in httpx2.EventSource(response):
                    yield ServerEvent(id=event.id, data=event.data)
        except httpx2.ReadTimeout as error:
            if not opened:
                raise failure(self.api, error) from None
        except FAILED as error:
            raise failure(self.api, error) from None

    def _authorization(self) -> dict[str, str]:
        """Asked for each time: a token that was signed in for does not last."""
        given = self.token if isinstance(self.token, str) else self.token()
        token = secrets.clean(given, "the token")
        return {"Authorization": f"Bearer {token}"}


def connect(api: str) -> httpx2.Client:
    try:
        return httpx2.Client(
            headers={"User-Agent": f"penstock/{VERSION}"},
            timeout=TIMEOUT,
            follow_redirects=False,  # a token is for this API and no other
            trust_env=not is_loopback(api),  # a proxy cannot reach this machine's loopback
        )
    except ValueError:
        raise errors.Misused("the environment names a proxy (…_PROXY) that is none") from None


def exchange(url: str, form: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, object]]:
    """Ask an issuer: a GET, or a POST of a form. Its refusals are answers too."""
    try:
        with connect(url) as client:
            response = client.get(url) if form is None else client.post(url, data=form)
    except FAILED as error:
        raise failure(url, error) from None
    body = body_of(response)
    if not isinstance(body, dict):
        raise errors.NotTheApi(f"{url} answered with something other than JSON")
    return response.status_code, cast("Mapping[str, object]", body)


def answer(response: httpx2.Response) -> object:
    """The JSON of a good answer; the refusal of any other."""
    body = body_of(response)
    if not response.is_success:
        problem = errors.problem_of(response.status_code, response.reason_phrase, body)
        raise errors.refusal(problem)
    if isinstance(body, str) and body:
        raise errors.NotTheApi(f"{response.url} answered with something other than JSON")
    return body


def body_of(response: httpx2.Response) -> object:
    if "json" not in response.headers.get("content-type", ""):
        return response.text
    try:
        return response.json()
    except ValueError:
        return response.text


def retry_after_s(response: httpx2.Response, attempt: int) -> float:
    """What the server asks for, within reason; dates are not worth reading."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), LONGEST_PAUSE_S) if asked.isdecimal() else backoff_s(attempt)


def backoff_s(attempt: int) -> float:
    return min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S)


def failure(api: str, error: Exception) -> errors.ClientError:
    """In our words where the library's would repeat what it was given: that may be a secret."""
    if isinstance(error, httpx2.LocalProtocolError | UnicodeEncodeError):
        return errors.Misused("the call cannot be sent: something given does not fit into a header")
    return errors.Unreachable(api, str(error) or type(error).__name__)
