"""Central's own code on a real database, called as its doors call it, without the doors."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock.central import reports
from penstock.central.allocations import store as allocations
from penstock.central.allocations.model import Allocation
from penstock.central.onboardings import founding
from penstock.central.projects import service as projects
from penstock.central.quotas import service as quotas
from penstock.central.quotas.model import TOTAL, Level, Scope
from penstock.central.sites import service as sites
from penstock.central.skus import service as skus
from penstock.central.skus.model import Sku
from penstock.central.slots import service as slots
from penstock.kernel import db, invariants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Database, Tx
from penstock.placement.model import Shape
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import AllocationId, NodeId, SiteId, SkuId

from . import expected
from .expected import Claim

T = TypeVar("T")
ADMIN: Final = Actor("key", "admin", "platform_admin")
FAMILY: Final = "h100"
SKU: Final = {Shape.GPU_SLICE: "slice", Shape.BAREMETAL: "metal"}


@dataclass(frozen=True)
class Node:
    """A node that exists only as a key and an id."""

    id: NodeId
    key: PrivateKey
    gpus: int

    def enrolled(self) -> wire.SiteReport:
        joined = wire.NodeEnrolled(
            node_id=self.id, name=self.id[-12:], public_key=self.key.public()
        )
        return wire.SiteReport(enrolled=joined)

    def present(self, *, connected: bool = True) -> wire.SiteReport:
        seen = wire.NodePresence(node_id=self.id, connected=connected, at_us=1)
        return wire.SiteReport(presence=seen)

    def discovered(self) -> wire.SiteReport:
        gpus = [
            wire.ProposedSlot(
                index=index, gpu_uuid=f"GPU-{self.id}-{index}", numa_node=index * 2 // self.gpus
            )
            for index in range(self.gpus)
        ]
        topology = wire.Topology(gpu_family=FAMILY, hardware="h100", slots=gpus)
        result = wire.TaskResult(node_id=self.id, topology=topology)
        return wire.SiteReport(topology=self.key.sign(result.SerializeToString()))


class Stage:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.site = SiteId("")
        self.nodes: dict[str, Node] = {}
        self.actors: dict[str, Actor] = {}

    async def run(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self.database.transaction() as tx:
            return await work(tx)

    async def report(self, *told: wire.SiteReport) -> None:
        """Each as its own transaction, again if it lost a race, as the link applies it."""
        for report in told:
            body = report.SerializeToString()
            await self.database.run(lambda tx, body=body: reports.handle(tx, self.site, body))

    async def build(self, sizes: tuple[int, ...], limits: dict[str, int | None]) -> None:
        """A site with nodes of these sizes, none approved; a catalog; tenants with quotas."""

        async def found(tx: Tx) -> None:
            self.site = (await sites.create(tx, ADMIN, name="here", auto_approve=False)).id
            for shape, counts in ((Shape.GPU_SLICE, (1, 2, 3, 4)), (Shape.BAREMETAL, sizes)):
                sku = Sku(
                    SkuId.new(), SKU[shape], shape, FAMILY, tuple(set(counts)), 1, "USD", tx.now
                )
                await skus.create(tx, ADMIN, sku)
            for name, limit in limits.items():
                tenant = await founding.create(tx, ADMIN, name=name)
                await projects.create(tx, ADMIN, name="main", tenant=tenant.id)
                if limit is not None:
                    scope = Scope(Level.TENANT, tenant.id, tenant.id)
                    await quotas.set_limit(tx, ADMIN, scope, TOTAL, limit)
                self.actors[name] = Actor("key", name, "member", tenant.id)

        await self.run(found)
        for size in sizes:
            node = Node(NodeId.new(), PrivateKey.generate(), size)
            self.nodes[node.id] = node
            await self.report(node.enrolled(), node.present(), node.discovered())

    async def approve_all(self) -> None:
        for node in self.nodes.values():
            await self.run(lambda tx, node=node: slots.approve(tx, ADMIN, node.id, None))

    async def expectation(self, limits: dict[str, int | None]) -> expected.Expected:
        """What holds before anything was asked for."""
        held = await self.run(
            lambda tx: slots.by_node(tx, [node.id for node in self.nodes.values()])
        )
        nodes = [
            expected.Node(id, [expected.Slot(s.id, s.kind == "chassis") for s in of_node])
            for id, of_node in held.items()
        ]
        return expected.Expected(nodes, limits)

    async def order(self, allocation_id: str) -> wire.DesiredAllocation:
        """The newest desired document of an allocation."""

        async def read(tx: Tx) -> bytes:
            body: bytes = await tx.fetchval(
                "SELECT body FROM feed_entries WHERE feed = $1 AND key = $2",
                sites.orders(self.site),
                allocation_id,
            )
            return body

        document = wire.SiteOrder.FromString(await self.run(read)).document
        return wire.DesiredAllocation.FromString(document.body)

    async def waited(self, ids: Collection[str]) -> list[Allocation]:
        """Those that waited, as they are now."""
        return await self.run(lambda tx: allocations.find(tx, list(map(AllocationId, ids))))

    async def claims(self) -> list[Claim]:
        """Every claim that was ever made, in the order of fences."""
        rows = await self.database.fetch(
            "SELECT slot_id, fence, allocation_id, freed_at IS NULL AS live FROM claims "
            "ORDER BY fence"
        )
        return [Claim(r["slot_id"], r["fence"], r["allocation_id"], r["live"]) for r in rows]

    async def violations(self) -> dict[str, int]:
        checked = await self.run(invariants.check)
        return {found.name: found.violations for found in checked if found.violations}


async def open_stage(url: str) -> Stage:
    return Stage(await db.connect(url, "central", size=4))
