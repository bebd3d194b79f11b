"""What may be done to a provider, and who comes in through one."""

from dataclasses import replace

from penstock.central.access import handing
from penstock.central.access.authorization import Resource, authorize
from penstock.central.realms import owners
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.providers import store
from penstock.central.realms.providers.model import Person, Provider
from penstock.central.realms.users import invitations
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock.kernel.sealing import Seal
from penstock_contracts import web_addresses
from penstock_contracts.ids import ProviderId, TenantId


async def create(
    tx: Tx,
    actor: Actor,
    seal: Seal,
    *,
    tenant: str | None,
    name: str,
    issuer: str,
    client_id: str,
    client_secret: str,
) -> Provider:
    """Trust an issuer. Central calls it, so it is for the platform to say which ones."""
    owner = await owners.of(tx, actor, tenant, "provider.create")
    where, given = Resource("provider", None, owner), handing.everything(owner)
    handing.refuse_wider(actor, "provider.create", where, given, handing.THEIRS)
    await hosting.refuse_hosted(tx, owner, "a sign-in through another issuer")
    if not _is_issuer(issuer):
        raise Invalid(f"issuer: {issuer[:200]!r} is not an https address")
    id = ProviderId.new()
    sealed = seal.seal(purpose(id), client_secret.encode())
    provider = Provider(id, owner, name, issuer, client_id, sealed, tx.now)
    await store.add(tx, provider)
    audit.record(tx, actor, "provider.create", id, tenant_id=owner, name=name, issuer=issuer)
    events.emit(tx, "provider.created", id, tenant_id=owner, name=name, issuer=issuer)
    return provider


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Provider]:
    authorize(actor, "provider.view", Resource("provider", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def disable(tx: Tx, actor: Actor, id: str) -> Provider:
    """Nobody comes in through it any more. Who is in stays in."""
    provider = await store.find(tx, id)
    if provider is None:
        raise NotFound("provider", id)
    authorize(actor, "provider.disable", Resource("provider", provider.id, provider.tenant_id))
    await store.disable(tx, provider.id)
    audit.record(
        tx, actor, "provider.disable", provider.id, tenant_id=provider.tenant_id,
        before={"name": provider.name, "disabled_at": provider.disabled_at},
    )  # fmt: skip
    events.emit(tx, "provider.disabled", provider.id, tenant_id=provider.tenant_id)
    return replace(provider, disabled_at=provider.disabled_at or tx.now)


async def offered(tx: Tx, tenant_id: TenantId) -> list[Provider]:
    return await store.offered(tx, tenant_id)


async def find(tx: Tx, tenant_id: TenantId, id: str) -> Provider | None:
    provider = await store.find(tx, id)
    if provider is None or provider.disabled_at is not None or provider.tenant_id != tenant_id:
        return None
    return provider


async def admit(tx: Tx, provider: Provider, person: Person) -> User | None:
    """The user that this person is: linked before, or known or invited by a verified address."""
    linked = await store.linked(tx, provider.id, person.subject)
    if linked is not None:
        return await users.find(tx, linked)
    user = await invitations.admit(tx, provider.tenant_id, person.email, person.name)
    if user is not None and await store.link(tx, provider, person.subject, user.id):
        audit.record(
            tx, users.actor_of(user), "user.link", user.id, provider=provider.id,
            issuer=provider.issuer,
        )  # fmt: skip
    return user


def purpose(id: ProviderId) -> str:
    return f"client secret of {id}"


def _is_issuer(issuer: str) -> bool:
    address = web_addresses.parse(issuer)
    return address is not None and address.is_private and address.query is None
