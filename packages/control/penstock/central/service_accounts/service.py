"""What may be done to service accounts. The caller owns the transaction."""

from dataclasses import replace
from datetime import datetime, timedelta

from penstock.central.access import grants, handing, keys
from penstock.central.access.authorization import Resource, authorize
from penstock.central.access.keys import NewKey
from penstock.central.service_accounts import store
from penstock.central.service_accounts.model import ServiceAccount
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import NO_ROLE, Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, NotFound
from penstock_contracts.ids import ServiceAccountId


def resource(account: ServiceAccount) -> Resource:
    return Resource("service_account", account.id, account.tenant_id)


async def create(tx: Tx, actor: Actor, *, name: str, tenant: str | None) -> ServiceAccount:
    """Of one's tenant; of the platform, if its own name no tenant. It may do nothing yet."""
    owner = await tenants.owner(tx, actor, tenant, "service_account.create")
    account = ServiceAccount(ServiceAccountId.new(), owner, name, tx.now)
    await store.add(tx, account)
    audit.record(tx, actor, "service_account.create", account.id, tenant_id=owner, name=name)
    events.emit(tx, "service_account.created", account.id, tenant_id=owner, name=name)
    return account


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[ServiceAccount]:
    where = Resource("service_account", None, actor.tenant_id)
    authorize(actor, "service_account.view", where)
    return await store.page(tx, after, limit)


async def create_key(tx: Tx, actor: Actor, id: str, *, name: str, days: int | None) -> NewKey:
    """A key with which it may do what it was given roles for."""
    account = await _handed_on(tx, actor, id, "key.create")
    if account.disabled_at is not None:
        raise Conflict(f"service account {id} is disabled; enable it before it gets a key")
    return await keys.create(
        tx, actor, tenant_id=account.tenant_id, name=name, role=NO_ROLE,
        service_account_id=account.id,
        expires_at=tx.now + timedelta(days=days) if days else None,
    )  # fmt: skip


async def disable(tx: Tx, actor: Actor, id: str) -> ServiceAccount:
    """From now on its keys are refused."""
    account = await _permitted(tx, actor, id, "service_account.disable")
    if account.disabled_at is not None:
        return account
    return await _set(tx, actor, account, tx.now, "disable")


async def enable(tx: Tx, actor: Actor, id: str) -> ServiceAccount:
    """Its keys are good again, as far as they did not run out."""
    account = await _handed_on(tx, actor, id, "service_account.enable")
    if account.disabled_at is None:
        return account
    return await _set(tx, actor, account, None, "enable")


async def _set(
    tx: Tx, actor: Actor, account: ServiceAccount, disabled_at: datetime | None, verb: str
) -> ServiceAccount:
    await store.set_disabled(tx, account.id, disabled_at)
    audit.record(
        tx, actor, f"service_account.{verb}", account.id, tenant_id=account.tenant_id,
        disabled_at=disabled_at, before={"disabled_at": account.disabled_at},
    )  # fmt: skip
    happened = "service_account.disabled" if disabled_at else "service_account.enabled"
    events.emit(tx, happened, account.id, tenant_id=account.tenant_id)
    return replace(account, disabled_at=disabled_at)


async def _handed_on(tx: Tx, actor: Actor, id: str, action: str) -> ServiceAccount:
    """One whose roles the actor may hand on: who makes it a key, or brings it back, may hold it."""
    account = await _permitted(tx, actor, id, action)
    given = await grants.of(tx, account.id)
    handing.refuse_wider(actor, action, resource(account), given, handing.THEIRS)
    return account


async def _permitted(tx: Tx, actor: Actor, id: str, action: str) -> ServiceAccount:
    account = await store.lock(tx, id)
    if account is None:
        raise NotFound("service_account", id)
    authorize(actor, action, await tenants.with_status(tx, resource(account)))
    return account
