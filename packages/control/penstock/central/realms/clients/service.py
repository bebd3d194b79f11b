"""What may be done to a client. The caller owns the transaction."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.central.access import endings, handing
from penstock.central.access.authorization import Resource, authorize
from penstock.central.realms import owners
from penstock.central.realms.clients import store
from penstock.central.realms.clients.model import (
    COMMAND_LINE,
    CREDENTIALS,
    Client,
    is_redirect_uri,
)
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.sessions import service as sessions
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid, NotFound
from penstock_contracts.ids import ClientId, TenantId


@dataclass(frozen=True)
class NewClient:
    client: Client
    secret: str | None = field(repr=False)


async def create(
    tx: Tx,
    actor: Actor,
    *,
    tenant: str | None,
    name: str,
    redirect_uris: Sequence[str],
    grants: Sequence[str],
    scopes: Sequence[str],
    role: str | None,
    public: bool,
) -> NewClient:
    """Register a client. A confidential one's secret is shown now and never again."""
    owner = await owners.of(tx, actor, tenant, "client.create")
    where, given = Resource("client", None, owner), handing.top(role, owner)
    handing.refuse_wider(actor, "client.create", where, given, handing.TOP)
    await hosting.refuse_hosted(tx, owner, "a client")
    for uri in redirect_uris:
        if not is_redirect_uri(uri):
            raise Invalid(
                f"redirect_uris: {uri[:200]!r} is not an https address, nor http to a loopback "
                "address; it has a host, perhaps a port, a path and a query, and nothing else"
            )
    if CREDENTIALS in grants and (public or role is None):
        raise Invalid("a client that acts for itself is confidential and has a role")
    secret = None if public else f"cs_{secrets.token_urlsafe(32)}"
    client = Client(
        id=ClientId.new(),
        tenant_id=owner,
        name=name,
        secret_hash=hash_secret(secret) if secret else None,
        redirect_uris=tuple(redirect_uris),
        grants=tuple(grants),
        scopes=tuple(scopes),
        role=role,
        trusted=False,
        created_at=tx.now,
    )
    await store.add(tx, client)
    audit.record(
        tx, actor, "client.create", client.id, tenant_id=owner, name=name, grants=client.grants,
        scopes=client.scopes, role=role,
    )  # fmt: skip
    events.emit(tx, "client.created", client.id, tenant_id=owner, name=name)
    return NewClient(client, secret)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Client]:
    authorize(actor, "client.view", Resource("client", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def get(tx: Tx, actor: Actor, id: str) -> Client:
    client = await store.find(tx, None, id)
    if client is None:
        raise NotFound("client", id)
    authorize(actor, "client.view", Resource("client", client.id, client.tenant_id))
    return client


async def disable(tx: Tx, actor: Actor, id: str) -> Client:
    """It gets no more tokens; those that it has, and the keys made with them, are good no more."""
    client = await store.find(tx, None, id)
    if client is None:
        raise NotFound("client", id)
    authorize(actor, "client.disable", Resource("client", client.id, client.tenant_id))
    if client.id == COMMAND_LINE:
        raise Conflict("the command line is every realm's client; it cannot be disabled")
    await store.disable(tx, client)
    await sessions.end_of_client(tx, client.tenant_id, client.id, "its client was disabled")
    await endings.of_client(tx, actor, client.tenant_id, client.id, "its client was disabled")
    audit.record(
        tx, actor, "client.disable", client.id, tenant_id=client.tenant_id,
        before={"name": client.name, "disabled_at": client.disabled_at},
    )  # fmt: skip
    events.emit(tx, "client.disabled", client.id, tenant_id=client.tenant_id)
    return replace(client, disabled_at=client.disabled_at or tx.now)


async def find(tx: Tx, tenant_id: TenantId, id: str) -> Client | None:
    """A client that may still be used."""
    client = await store.find(tx, tenant_id, id)
    return client if client is not None and client.disabled_at is None else None


def hash_secret(secret: str) -> bytes:
    """A secret is 256 random bits, so one fast hash is enough to store it."""
    return hashlib.sha256(secret.encode()).digest()
