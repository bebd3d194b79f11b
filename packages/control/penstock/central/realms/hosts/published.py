"""The public keys of hosted realms: fetched, remembered, and asked for again only so often."""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

import httpx2

from penstock.kernel import log
from penstock.kernel.errors import Unavailable
from penstock_contracts.ids import TenantId

logger = log.get(__name__)
TIMEOUT_S: Final = 5.0
ANSWER_BYTES_MAX: Final = 64 * 1024
REALMS_MAX: Final = 1024
KEYS_MAX: Final = 16  # of one realm
AGAIN_S: Final = 10.0  # at most this often for one realm, whoever asks and for whatever kid
OLD_S: Final = 300.0  # then they are fetched again, while the old ones serve
DEAD_S: Final = 86_400.0  # a provider that is away for longer vouches for nobody

Jwk = Mapping[str, str]
Fetch = Callable[[str], Awaitable[Mapping[str, Jwk]]]


@dataclass
class Ring:
    """What is known of one realm's keys."""

    keys: Mapping[str, Jwk] = field(default_factory=dict[str, Jwk])
    fetched_at: float = float("-inf")
    tried_at: float = float("-inf")
    fetching: "asyncio.Task[None] | None" = None

    def known(self, kid: str, now: float) -> Jwk | None:
        return self.keys.get(kid) if now - self.fetched_at < DEAD_S else None

    @property
    def failed(self) -> bool:
        return self.fetched_at < self.tried_at


class KeysAway(Exception):
    """The realm's keys cannot be read."""


class Published:
    """Bounded in realms, keys and calls. A known key is answered without waiting for anyone."""

    def __init__(
        self,
        fetch: "Fetch | None" = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        again_s: float = AGAIN_S,
    ) -> None:
        self._fetch = fetch or fetch_keys
        self._clock = clock
        self._again_s = again_s
        self._rings: OrderedDict[TenantId, Ring] = OrderedDict()

    async def key(self, tenant_id: TenantId, url: str, kid: str) -> Jwk | None:
        """The key, or None if the realm has no such one. Unavailable if that cannot be known."""
        ring = self._ring(tenant_id)
        now = self._clock()
        known = ring.known(kid, now)
        if known is not None:
            if now - ring.fetched_at >= OLD_S:
                self._refresh(ring, url)
            return known
        fetching = self._refresh(ring, url)
        if fetching is not None:
            await asyncio.shield(fetching)
        known = ring.known(kid, self._clock())
        if known is None and ring.failed:
            raise Unavailable(
                "the issuer of this token does not answer, so the token can be neither believed "
                "nor refused; nothing was done",
                code="issuer_unavailable",
                suggestion="ask again, or use an API key",
                retry_after_s=max(1, round(self._again_s)),
            )
        return known

    def _ring(self, tenant_id: TenantId) -> Ring:
        ring = self._rings.setdefault(tenant_id, Ring())
        self._rings.move_to_end(tenant_id)
        if len(self._rings) > REALMS_MAX:
            self._rings.popitem(last=False)
        return ring

    def _refresh(self, ring: Ring, url: str) -> "asyncio.Task[None] | None":
        """The fetch that is on its way, or a new one if it is time; else none."""
        if ring.fetching is None and self._clock() - ring.tried_at >= self._again_s:
            ring.tried_at = self._clock()
            ring.fetching = asyncio.create_task(self._load(ring, url))
        return ring.fetching

    async def _load(self, ring: Ring, url: str) -> None:
        try:
            ring.keys = await self._fetch(url)
            ring.fetched_at = self._clock()
        except KeysAway as away:
            logger.warning("realm keys away", url=url, reason=str(away))
        finally:
            ring.fetching = None


async def fetch_keys(url: str) -> Mapping[str, Jwk]:
    """By kid: the keys that sign. Raises KeysAway."""
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as client,
            client.stream("GET", url) as response,
        ):
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES_MAX:
                    raise KeysAway("the answer is too large")
        content: object = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as error:
        raise KeysAway(type(error).__name__) from None
    if response.status_code != 200 or not isinstance(content, dict):
        raise KeysAway(f"it answered {response.status_code}")
    return _signing(cast("Mapping[str, object]", content).get("keys"))


def _signing(listed: object) -> dict[str, Jwk]:
    if not isinstance(listed, list):
        raise KeysAway("the answer has no keys")
    found: dict[str, Jwk] = {}
    for each in cast("list[object]", listed):
        if not isinstance(each, dict):
            continue
        key = cast("Mapping[str, object]", each)
        kid = key.get("kid")
        if isinstance(kid, str) and key.get("use", "sig") == "sig" and len(found) < KEYS_MAX:
            found[kid] = {name: value for name, value in key.items() if isinstance(value, str)}
    return found
