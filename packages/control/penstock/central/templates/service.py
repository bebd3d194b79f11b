"""What may be done to a template. The caller owns the transaction.

Changing one changes no tenant: it is applied when a tenant is onboarded with it, or again.
"""

from collections.abc import Sequence
from dataclasses import replace

from penstock.central.access.authorization import Resource, authorize
from penstock.central.policies import service as policies
from penstock.central.pools import service as pools
from penstock.central.quotas import rules
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import Level, measure
from penstock.central.templates import store
from penstock.central.templates.model import Template
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid
from penstock_contracts.ids import TemplateId


async def put(
    tx: Tx, actor: Actor, wanted: Template, *, site: str | None, sites: Sequence[str] | None
) -> Template:
    """Make or replace the template of that name; its sites are given by id or name."""
    authorize(actor, "template.set", Resource("template"))
    site_id = await pools.site_of(tx, site)
    if site_id is not None and sites is not None:
        raise Invalid("sites: a site's own template binds tenants to that site; leave them out")
    allowed = None if sites is None else await policies.site_ids(tx, sites)
    await check(tx, wanted)
    before = await store.find(tx, wanted.name)
    after = replace(
        wanted,
        id=before.id if before else TemplateId.new(),
        site_id=site_id,
        sites=(site_id,) if site_id else allowed,
        revision=before.revision if before else 0,
    )
    if after == before:
        return after
    after = replace(after, revision=after.revision + 1)
    await store.put(tx, actor, after)
    audit.record(
        tx, actor, "template.set", after.id, name=after.name, template=after, before=before
    )
    events.emit(tx, "template.set", after.id, name=after.name, revision=after.revision)
    return after


async def check(tx: Tx, wanted: Template) -> None:
    await policies.refuse_unknown_skus(tx, wanted.skus)
    rules.refuse_parts({measure(of): most for of, most in wanted.quotas.items()})
    for of in wanted.quotas:
        await quotas.refuse_unknown(tx, Level.TENANT, measure(of))


async def get(tx: Tx, actor: Actor, reference: str) -> Template:
    """By id or by name."""
    authorize(actor, "template.view", Resource("template", reference))
    return await store.get(tx, reference)


async def find(tx: Tx, reference: str) -> Template:
    """For the system, which applies it."""
    found = await store.find(tx, reference)
    if found is None:
        raise Invalid(
            f"template: there is no template {reference!r}",
            code="unknown_template",
            suggestion="`penstock template ls` lists those there are",
        )
    return found


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Template]:
    authorize(actor, "template.view", Resource("template"))
    return await store.page(tx, after, limit)
