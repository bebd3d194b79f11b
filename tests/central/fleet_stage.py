"""A fleet for placement tests, made through the same verbs as a real one, without a network."""

import time
from dataclasses import dataclass

from penstock.central import reports
from penstock.central.allocations import release
from penstock.central.onboardings import founding
from penstock.central.placement.queue import Ask
from penstock.central.projects import service as projects
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import TOTAL, Level, Scope
from penstock.central.sites import service as sites
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database
from penstock.placement.model import Shape
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.ids import SiteId, SkuId, TenantId

from .stand_in_site import Node, desired, on_lease, proof


@dataclass
class Stage:
    database: Database
    site_id: SiteId
    tenant_id: TenantId
    nodes: dict[str, Node]

    def ask(self, gpus: int = 1, sku: str = "slice", **changes: object) -> Ask:
        actor = Actor("key", "key_1", "member", self.tenant_id)
        fields: dict[str, object] = {
            "actor": actor, "project": "main", "sku": sku, "gpus": gpus, "site": None,
            "correlation_id": "c", **changes,
        }  # fmt: skip
        return Ask(**fields)  # pyright: ignore[reportArgumentType] # tests change any field

    async def handle(self, *said: wire.SiteReport) -> None:
        async with self.database.transaction() as tx:
            for report in said:
                await reports.handle(tx, self.site_id, report.SerializeToString())

    async def add(self, node: Node) -> None:
        self.nodes[node.id] = node
        enrolled = wire.NodeEnrolled(node_id=node.id, name=node.name, public_key=node.key.public())
        present = wire.NodePresence(node_id=node.id, connected=True, at_us=1)
        await self.handle(
            wire.SiteReport(enrolled=enrolled),
            wire.SiteReport(presence=present),
            wire.SiteReport(topology=node.signed_topology()),
        )

    async def give_back(self, id: str) -> None:
        """Release a lease and prove its cleanup, as its node would."""
        async with self.database.transaction() as tx:
            await release.release(tx, SYSTEM, id)
        async with self.database.transaction() as tx:
            body: bytes = await tx.fetchval("SELECT body FROM feed_entries WHERE key = $1", id)
        order = desired(body)
        node = self.nodes[order.node_id]
        proofs = [
            node.key.sign(proof(node, order, at).SerializeToString())
            for at in range(len(order.slots))
        ]
        await self.handle(on_lease(order, wire.CleanupReported(proofs=proofs)))


async def build(
    database: Database, nodes: int, *, gpus: int = 8, gpu_limit: int | None = None
) -> Stage:
    async with database.transaction() as tx:
        tenant = await founding.create(tx, SYSTEM, name="acme")
        await projects.create(tx, SYSTEM, name="main", tenant=tenant.id)
        site = await sites.create(tx, SYSTEM, name=f"s{time.time_ns()}", auto_approve=True)
        for name, shape, counts in (
            ("slice", Shape.GPU_SLICE, (1, 2, 3, 4)),
            ("metal", Shape.BAREMETAL, (gpus,)),
        ):
            sku = Sku(SkuId.new(), name, shape, "h100", counts, 1, "USD", tx.now)
            await skus.create(tx, SYSTEM, sku)
        if gpu_limit is not None:
            scope = Scope(Level.TENANT, tenant.id, tenant.id)
            await quotas.set_limit(tx, SYSTEM, scope, TOTAL, gpu_limit)
    stage = Stage(database, site.id, tenant.id, {})
    for number in range(nodes):
        await stage.add(Node(f"n{number}", gpus))
    return stage
