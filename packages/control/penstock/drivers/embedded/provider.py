"""Central's own realms as a provider: what realms/ does, each verb in a transaction of its own.

Central itself needs no provider for them: what it makes, it makes in the transaction that
decided it. This is for whoever treats all realms alike, and holds both to the same rules.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from penstock.central.events import CATALOGUE
from penstock.central.realms import creation
from penstock.central.realms.clients import builtin
from penstock.central.realms.model import issuer_of
from penstock.central.realms.users import invitations
from penstock.kernel import db
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import LOST, Database, Tx
from penstock.kernel.errors import Problem
from penstock_contracts.drivers.faults import Conflict, Gone, Transient
from penstock_contracts.drivers.realm import Hosted, Wanted
from penstock_contracts.ids import TenantId

T = TypeVar("T")


@dataclass(frozen=True)
class Embedded:
    """Keeps the rules of RealmProvider."""

    database: Database
    public_url: str

    async def ensure(self, wanted: Wanted) -> Hosted:
        async def make(tx: Tx) -> None:
            if not await _is_here(tx, wanted):
                await creation.create(tx, TenantId(wanted.tenant), wanted.name)
            await builtin.ensure_portal(tx, TenantId(wanted.tenant), wanted.portal)

        await self._run(make)
        issuer = issuer_of(self.public_url, wanted.name)
        return Hosted(issuer, f"{issuer}/jwks", f"{issuer}/login")

    async def invite(self, wanted: Wanted, email: str) -> None:
        async def invite(tx: Tx) -> None:
            await _refuse_gone(tx, wanted)
            tenant = TenantId(wanted.tenant)
            await invitations.ensure(tx, SYSTEM, tenant, email=email, role="admin")

        await self._run(invite)

    async def suspend(self, wanted: Wanted) -> None:
        await self._suspend(wanted, suspended=True)

    async def resume(self, wanted: Wanted) -> None:
        await self._suspend(wanted, suspended=False)

    async def _suspend(self, wanted: Wanted, *, suspended: bool) -> None:
        async def turn(tx: Tx) -> None:
            await _refuse_gone(tx, wanted)
            await creation.suspend(tx, TenantId(wanted.tenant), suspended=suspended)

        await self._run(turn)

    async def remove(self, wanted: Wanted) -> None:
        """The database refuses it of a realm that has people."""

        async def forget(tx: Tx) -> None:
            await creation.forget(tx, TenantId(wanted.tenant))

        await self._run(forget)

    async def _run(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        try:
            return await self.database.run(work, patient=False)
        except LOST as error:
            raise Transient(f"the database does not answer: {type(error).__name__}") from None
        except Problem as refusal:
            raise Conflict(refusal.detail) from None


@asynccontextmanager
async def connected(database_url: str, public_url: str) -> AsyncGenerator[Embedded]:
    try:
        database = await db.connect(database_url, "central", size=2, catalogue=CATALOGUE)
    except LOST as error:
        raise Transient(f"the database does not answer: {type(error).__name__}") from None
    try:
        yield Embedded(database, public_url)
    finally:
        await database.close()


async def _is_here(tx: Tx, wanted: Wanted) -> bool:
    owner = await creation.owner_of(tx, wanted.name)
    if owner is not None and owner != wanted.tenant:
        raise Conflict(f"there is a realm {wanted.name} that is not this tenant's")
    return owner is not None


async def _refuse_gone(tx: Tx, wanted: Wanted) -> None:
    if not await _is_here(tx, wanted):
        raise Gone(f"there is no realm {wanted.name}")
