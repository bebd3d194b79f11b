"""What may be done to a SKU. The caller owns the transaction."""

from penstock.central.access.authorization import Resource, authorize
from penstock.central.skus import store
from penstock.central.skus.model import Sku
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import NotFound
from penstock.kernel.questions import Question, ask


async def create(tx: Tx, actor: Actor, sku: Sku) -> Sku:
    authorize(actor, "sku.create", Resource("sku"))
    await store.add(tx, sku)
    audit.record(
        tx,
        actor,
        "sku.create",
        sku.id,
        name=sku.name,
        price_micros_per_gpu_hour=sku.price_micros_per_gpu_hour,
    )
    events.emit(tx, "sku.created", sku.id, name=sku.name)
    return sku


async def get(tx: Tx, actor: Actor, reference: str) -> Sku:
    authorize(actor, "sku.view", Resource("sku"))
    found = await find(tx, [reference])
    if not found:
        raise NotFound("sku", reference)
    return found[0]


def named_so(references: list[str]) -> Question[list[Sku]]:
    """By id or by name. Everyone sees the catalog."""
    return store.meant(references)


async def find(tx: Tx, references: list[str]) -> list[Sku]:
    return await ask(tx, named_so(references))


async def families(tx: Tx) -> set[str]:
    """The GPU families that can be leased."""
    return await store.families(tx)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Sku]:
    authorize(actor, "sku.view", Resource("sku"))
    return await store.page(tx, after, limit)


async def every(tx: Tx, actor: Actor) -> list[Sku]:
    """The whole catalog, by name."""
    authorize(actor, "sku.view", Resource("sku"))
    return await store.every(tx)
