"""All SQL that touches the placement_policies table."""

from collections.abc import Sequence

import asyncpg

from penstock.central.policies.model import Policy
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.questions import Question
from penstock.placement.model import Strategy
from penstock_contracts.ids import SiteId, TenantId

COLUMNS = (
    "tenant_id, revision, sites, families, residency, strategy, price_micros_max, skus, images,"
    " weight"
)


def _policy(row: asyncpg.Record) -> Policy:
    return Policy(
        tenant_id=TenantId(row["tenant_id"]),
        revision=row["revision"],
        sites=None if row["sites"] is None else tuple(SiteId(id) for id in row["sites"]),
        families=None if row["families"] is None else tuple(row["families"]),
        residency=tuple(row["residency"]),
        strategy=Strategy(row["strategy"]),
        price_micros_max=row["price_micros_max"],
        skus=None if row["skus"] is None else tuple(row["skus"]),
        images=None if row["images"] is None else tuple(row["images"]),
        weight=row["weight"],
    )


def of_tenants(tenants: Sequence[TenantId]) -> Question[dict[TenantId, Policy]]:
    """The policy of each; one that allows everything for those that have none."""
    return Question(
        "SELECT p FROM placement_policies p WHERE tenant_id = ANY($1)",
        (tenants,),
        lambda rows: {
            **{id: Policy(id) for id in tenants},
            **{policy.tenant_id: policy for policy in map(_policy, rows)},
        },
    )


async def put(tx: Tx, actor: Actor, policy: Policy) -> None:
    await tx.execute(
        f"""
        INSERT INTO placement_policies ({COLUMNS}, changed_at, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (tenant_id) DO UPDATE SET revision = $2, sites = $3, families = $4,
            residency = $5, strategy = $6, price_micros_max = $7, skus = $8, images = $9,
            weight = $10, changed_at = $11, changed_by = $12
        """,
        policy.tenant_id,
        policy.revision,
        policy.sites,
        policy.families,
        policy.residency,
        policy.strategy,
        policy.price_micros_max,
        policy.skus,
        policy.images,
        policy.weight,
        tx.now,
        actor.name,
    )


async def forget(tx: Tx, tenant_id: TenantId) -> None:
    """Of a tenant that never came to be."""
    await tx.execute("DELETE FROM placement_policies WHERE tenant_id = $1", tenant_id)
