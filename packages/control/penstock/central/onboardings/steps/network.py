"""The network: a VRF, VLANs, a VNI, a partition key and prefixes, from the pools.

A limit on VLANs is changed first: what the file asks for must fit into what it allows.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from penstock.central.networks import service as networks
from penstock.central.onboardings import intents, limits
from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import Kind, Level, Scope
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did:
    intent = await intents.of(tx, job.file)
    if intent.networks is None:
        return Did("the file asks for none", changed=False)
    changes: list[limits.Change] = []
    if intent.quotas is not None:
        scope = Scope(Level.TENANT, job.tenant_id, job.tenant_id)
        changes = await limits.bring(tx, job.actor, scope, intent.quotas, only=Kind.VLANS)
    given = await networks.ensure(tx, job.actor, job.tenant_id, intent.networks)
    if not given and not changes:
        return Did("it has all of it already", changed=False)
    limited = "limit on VLANs changed" if changes else ""
    said = [*(f"{each.kind} {each.shown}" for each in given), limited]
    return Did(", ".join(filter(None, said)), before={"limits": changes})


async def undo(tx: Tx, job: Job, before: Before) -> str:
    if not job.founded:
        kept = cast("Sequence[Mapping[str, Any]]", before.get("limits", ()))
        detail = await limits.put_back(tx, job.actor, kept) if kept else ""
        stays = "what it was given stays; a host may speak with it already"
        return f"limit {detail}; {stays}" if detail else stays
    await quotas.forget(tx, job.tenant_id)
    returned = await networks.forget(tx, job.actor, job.tenant_id)
    return f"{returned} returned to the pools"
