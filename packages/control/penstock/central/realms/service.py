"""Realms as a process of central serves them: found by the name in their issuer."""

from dataclasses import dataclass, field

from penstock.central.realms import store
from penstock.central.realms.hosts.published import Published
from penstock.central.realms.keys.service import Keyring
from penstock.central.realms.model import Realm, issuer_of
from penstock.central.realms.passwords import Passwords
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Conflict, Forbidden, NotFound
from penstock.kernel.sealing import Seal
from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Realms:
    """What realms need of their process."""

    database: Database
    public_url: str  # of the API: the audience of tokens, and where issuers begin
    seal: Seal
    keyring: Keyring
    passwords: Passwords
    published: Published = field(default_factory=Published)
    providers: tuple[str, ...] = ()  # where realms can be, besides here
    default_provider: str = ""

    async def find(self, name: str) -> Realm:
        rows = await self.database.fetch(store.BY_NAME, name)
        if not rows:
            raise NotFound("realm", name)
        row = rows[0]
        if row["provider"] is not None:
            raise Conflict(
                f"realm {name} lives at {row['provider']}, not here",
                code="realm_elsewhere",
                suggestion=f"use {row['issuer']}" if row["issuer"] else None,
                extras={"issuer": row["issuer"]},
            )
        if row["suspended_at"] is not None:
            raise Forbidden(
                f"realm {name} is suspended; nobody can come in", code="realm_suspended"
            )
        return Realm(TenantId(row["tenant_id"]), name, self.issuer(name), row["created_at"])

    async def of(self, tx: Tx, tenant_id: TenantId) -> Realm:
        name = await store.name_of(tx, tenant_id)
        return Realm(tenant_id, name, self.issuer(name), tx.now)

    def issuer(self, name: str) -> str:
        return issuer_of(self.public_url, name)

    def name_in(self, issuer: str) -> str | None:
        """The realm that an issuer of ours names."""
        prefix = self.issuer("")
        return issuer.removeprefix(prefix) if issuer.startswith(prefix) else None
