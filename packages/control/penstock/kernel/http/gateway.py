"""Who may come in, how often, and how many at once.

Everything here is in this process's memory: of several replicas each applies the whole limit
to what reaches it, so a limit for all of them is divided by their number when it is set.

Whoever shows a credential that was accepted before is recognized by its hash, before anything
is asked of the database. That only decides whose bucket and whose share is used; whether the
credential still holds is asked every time.
"""

import hashlib
import ipaddress
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.types import Scope
from starlette.websockets import WebSocket

from penstock.kernel.actor import Actor
from penstock.kernel.buckets import Buckets, Level, Rate
from penstock.kernel.errors import TooMany, Unauthenticated
from penstock.kernel.shares import Shares

Connection = Request | WebSocket
Authenticate = Callable[[Connection], Awaitable[Actor]]

KNOWN_MAX: Final = 10_000
STRANGER: Final = "your address, with credentials that are not known,"
IPV6_NETWORK: Final = 64  # bits: what one caller has addresses of


@dataclass(frozen=True)
class Limits:
    tenant: Rate
    key: Rate
    address: Rate  # of those who are not known
    attempts: Rate  # of an address: what guesses, or is dear
    bad_keys: Rate
    requests_max: int
    streams_max: int


@dataclass(frozen=True)
class Party:
    """Whose requests are counted together; the platform's own have no tenant."""

    key: str
    tenant: str | None


@dataclass
class Visitor:
    """A request before it is known whose it is; `party` is who showed this credential before."""

    address: str
    credential: bytes = field(repr=False)
    party: Party | None = None
    attempt: bool = False
    level: Level | None = None  # of the bucket that has least
    authorization: str = field(default="", repr=False)  # as it was sent; nothing if sent twice
    ambiguous: bool = False  # it was sent more than once

    @property
    def name(self) -> str:
        return (self.party.tenant or self.party.key) if self.party else self.address


class Gateway:
    def __init__(self, limits: Limits) -> None:
        self._tenants = Buckets(limits.tenant)
        self._keys = Buckets(limits.key)
        self._addresses = Buckets(limits.address)
        self._attempts = Buckets(limits.attempts)
        self._bad_keys = Buckets(limits.bad_keys)
        self._requests = Shares(limits.requests_max, "requests")
        self._streams = Shares(limits.streams_max, "streams")
        self._known: OrderedDict[bytes, Party] = OrderedDict()

    def meet(self, scope: Scope, *, attempt: bool = False) -> Visitor:
        """An attempt is its address's, whatever credential comes with it."""
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        one = shown[0] if len(shown) == 1 else b""
        credential = hashlib.sha256(one).digest() if one else b""
        client: tuple[str, int] | None = scope.get("client")
        return Visitor(
            network(client[0]) if client else "",
            credential,
            None if attempt else self._known.get(credential),
            attempt,
            authorization=one.decode("latin-1"),
            ambiguous=len(shown) > 1,
        )

    def meter(self, visitor: Visitor) -> None:
        """Count the request against its key and its tenant; its address, if they are not known."""
        visitor.level = None
        if visitor.party is None:
            _count(visitor, "your address", self._addresses.take(visitor.address))
            if visitor.attempt:
                _count(visitor, "your address", self._attempts.take(visitor.address))
            if visitor.ambiguous:
                _count(visitor, STRANGER, self._bad_keys.take(visitor.address))
            return
        _count(visitor, "this key", self._keys.take(visitor.party.key))
        if visitor.party.tenant is not None:
            _count(visitor, "this tenant", self._tenants.take(visitor.party.tenant))

    def place(self, visitor: Visitor, *, stream: bool) -> AbstractContextManager[None]:
        return (self._streams if stream else self._requests).hold(visitor.name)

    def guard(self, authenticate: Authenticate) -> Authenticate:
        """Authenticate, for a bounded number of bad credentials from one address."""

        async def guarded(connection: Connection) -> Actor:
            visitor: Visitor = connection.state.visitor
            if visitor.party is not None or not visitor.credential:
                return await self._recognized(connection, visitor, authenticate)
            return await self._stranger(connection, visitor, authenticate)

        return guarded

    async def _recognized(
        self,
        connection: Connection,
        visitor: Visitor,
        authenticate: Authenticate,
    ) -> Actor:
        try:
            return await authenticate(connection)
        except Unauthenticated:
            self._known.pop(visitor.credential, None)
            raise

    async def _stranger(
        self,
        connection: Connection,
        visitor: Visitor,
        authenticate: Authenticate,
    ) -> Actor:
        """Taken before it is known whether the credential is bad: many at once are not free."""
        _count(visitor, STRANGER, self._bad_keys.take(visitor.address))
        actor = await authenticate(connection)
        self._bad_keys.give_back(visitor.address)
        self._addresses.give_back(visitor.address)
        visitor.party = Party(actor.name, actor.tenant_id)
        self._known[visitor.credential] = visitor.party
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        self.meter(visitor)
        return actor


def authorization(connection: Connection) -> str:
    """What the caller shows. Whoever asks who calls reads the very text by which calls are
    counted."""
    visitor: Visitor = connection.state.visitor
    return visitor.authorization


def _count(visitor: Visitor, who: str, level: Level) -> None:
    """Answers tell of the bucket that has least."""
    if visitor.level is None or level.remaining <= visitor.level.remaining:
        visitor.level = level
    if level.retry_after_s:
        raise too_many(who, level)


def too_many(who: str, level: Level) -> TooMany:
    return TooMany(
        f"{who} sent more requests than the {level.limit} that are allowed at once; "
        "nothing was done",
        suggestion="ask again after the time in Retry-After",
        retry_after_s=level.retry_after_s,
    )


def network(address: str) -> str:
    """The address, or its network where one caller has many addresses."""
    if ":" not in address:
        return address[:64]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, IPV6_NETWORK), strict=False))
