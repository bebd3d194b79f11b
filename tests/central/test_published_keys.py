"""Keys of hosted realms: remembered, bounded, and asked for only so often."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from penstock.central.realms.hosts import published
from penstock.central.realms.hosts.published import AGAIN_S, DEAD_S, OLD_S, KeysAway, Published
from penstock.kernel.errors import Unavailable
from penstock_contracts.ids import TenantId

pytestmark = pytest.mark.anyio
ACME = TenantId("tenant_acme")
URL = "http://keys.example"


@dataclass
class Issuer:
    """Publishes what it is told to, and counts."""

    keys: dict[str, Mapping[str, str]] = field(default_factory=lambda: {"a": {"kty": "RSA"}})
    away: bool = False
    asked: int = 0
    at: float = 1000.0

    async def fetch(self, _url: str) -> Mapping[str, Mapping[str, str]]:
        self.asked += 1
        await asyncio.sleep(0)
        if self.away:
            raise KeysAway("away")
        return dict(self.keys)

    def published(self) -> Published:
        return Published(self.fetch, clock=lambda: self.at)


async def test_those_who_ask_at_once_are_asked_for_once() -> None:
    issuer = Issuer()
    ring = issuer.published()
    found = await asyncio.gather(*(ring.key(ACME, URL, "a") for _ in range(20)))
    assert found == [{"kty": "RSA"}] * 20
    assert issuer.asked == 1


async def test_an_unknown_kid_is_asked_for_at_most_every_so_often() -> None:
    issuer = Issuer()
    ring = issuer.published()
    for _ in range(5):
        assert await ring.key(ACME, URL, "b") is None
    assert issuer.asked == 1
    issuer.keys["b"] = {"kty": "EC"}
    issuer.at += AGAIN_S
    assert await ring.key(ACME, URL, "b") == {"kty": "EC"}, "a new key is believed"
    assert issuer.asked == 2


async def test_while_the_issuer_is_away_known_keys_serve_and_others_cannot_be_judged() -> None:
    issuer = Issuer()
    ring = issuer.published()
    await ring.key(ACME, URL, "a")
    issuer.away = True
    issuer.at += OLD_S
    assert await ring.key(ACME, URL, "a") is not None
    await asyncio.sleep(0.01)
    assert issuer.asked == 2, "asked for in the background"
    assert await ring.key(ACME, URL, "a") is not None
    with pytest.raises(Unavailable):
        await ring.key(ACME, URL, "b")
    assert issuer.asked == 2
    issuer.away, issuer.at = False, issuer.at + AGAIN_S
    assert await ring.key(ACME, URL, "b") is None


async def test_an_issuer_that_is_away_for_a_day_vouches_for_nobody() -> None:
    issuer = Issuer()
    ring = issuer.published()
    await ring.key(ACME, URL, "a")
    issuer.away = True
    issuer.at += DEAD_S
    with pytest.raises(Unavailable):
        await ring.key(ACME, URL, "a")


async def test_a_key_that_is_published_no_more_is_forgotten() -> None:
    issuer = Issuer()
    ring = issuer.published()
    await ring.key(ACME, URL, "a")
    issuer.keys = {"b": {"kty": "EC"}}
    issuer.at += OLD_S
    await ring.key(ACME, URL, "a")
    await asyncio.sleep(0.01)
    assert await ring.key(ACME, URL, "a") is None


async def test_no_more_realms_are_remembered_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "REALMS_MAX", 2)
    issuer = Issuer()
    ring = issuer.published()
    for name in ("a", "b", "c", "a"):
        await ring.key(TenantId(f"tenant_{name}"), URL, "a")
    assert issuer.asked == 4, "the one that was asked for longest ago was forgotten"
