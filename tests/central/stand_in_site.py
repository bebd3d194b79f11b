"""A site that says exactly what a test tells it to, over the real link with real keys."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock_contracts import identity, link, membership
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import NodeId
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import Member

from .plane import Central, Json, Tenant

Orders = dict[str, wire.DesiredAllocation]


def now_us() -> int:
    return time.time_ns() // 1000


@dataclass
class Node:
    """A node that exists only as a key and an id."""

    name: str
    gpus: int = 8
    family: str = "h100"
    key: PrivateKey = field(default_factory=PrivateKey.generate)
    id: NodeId = field(default_factory=NodeId.new)

    def topology(self, *, ready: bool = True, uuid_of: str = "") -> wire.Topology:
        return wire.Topology(
            hardware=f"{self.family}-{self.gpus}",
            gpu_family=self.family,
            gpu_vendor="nvidia",
            cpus=128,
            memory_mib=1 << 20,
            numa_nodes=2,
            slots=[
                wire.ProposedSlot(
                    index=index,
                    gpu_uuid=f"GPU-{uuid_of or self.name}-{index}",
                    nvme_serial=f"NVME-{self.name}-{index}",
                    fabric_guid=f"FAB-{self.name}-{index}",
                    numa_node=index * 2 // self.gpus,
                    cpus=16,
                    memory_mib=1 << 16,
                )
                for index in range(self.gpus)
            ],
            readiness=[wire.Readiness(check="gpu.visible", passed=ready)],
        )

    def signed_topology(
        self, topology: wire.Topology | None = None, key: PrivateKey | None = None
    ) -> wire.Signed:
        result = wire.TaskResult(
            task_id=f"topology-{secrets.token_hex(4)}",
            node_id=self.id,
            status=wire.TASK_STATUS_DONE,
            topology=self.topology() if topology is None else topology,
        )
        return (key or self.key).sign(result.SerializeToString())


def steps_of(binding: wire.SlotBinding) -> list[wire.CleanupStep]:
    return [wire.CleanupStep(name=name, passed=True) for name in binding.cleanup_steps]


def proof(node: Node, order: wire.DesiredAllocation, at: int) -> wire.CleanupProof:
    """A good proof for the slot at this place of the order."""
    binding = order.slots[at]
    return wire.CleanupProof(
        node_id=node.id,
        slot_id=binding.slot_id,
        allocation_id=order.allocation_id,
        fence=binding.fence,
        nonce=binding.cleanup_nonce,
        steps=steps_of(binding),
        finished_at_us=now_us(),
    )


def fences(order: wire.DesiredAllocation) -> list[wire.SlotFence]:
    return [wire.SlotFence(slot_id=slot.slot_id, fence=slot.fence) for slot in order.slots]


def desired(order: bytes) -> wire.DesiredAllocation:
    """What a lease's order desires."""
    return wire.DesiredAllocation.FromString(wire.SiteOrder.FromString(order).document.body)


def on_lease(
    order: wire.DesiredAllocation, report: wire.AllocationObserved | wire.CleanupReported
) -> wire.SiteReport:
    """A report on the lease, as its site sends it."""
    observed = isinstance(report, wire.AllocationObserved)
    body = wire.LeaseReport(observed=report) if observed else wire.LeaseReport(cleanup=report)
    return wire.SiteReport(
        reported=wire.Reported(
            kind="lease",
            key=order.allocation_id,
            revision=order.revision,
            body=body.SerializeToString(),
        )
    )


class StandInSite:
    """Both feeds of a site, in memory. Reports are numbered; orders are kept by key."""

    def __init__(self, id: str, member: Member) -> None:
        self.id = id
        self.member = member
        self.nodes: dict[str, Node] = {}
        self.orders: Orders = {}
        self.about_nodes: list[wire.SiteOrder] = []  # tokens, retirements, keys
        self.received = 0
        self._reports: list[link.Outgoing] = []
        self._seq = 0
        self._acknowledged = 0
        self._changed = asyncio.Condition()
        self._told = asyncio.Event()

    # The outbox of the link.

    async def read(self, after: int, limit: int) -> Sequence[link.Outgoing]:
        return [entry for entry in self._reports if entry.seq > after][:limit]

    async def wait(self, after: int) -> None:
        await self._told.wait()
        self._told.clear()

    async def acknowledge(self, seq: int) -> None:
        async with self._changed:
            self._acknowledged = max(self._acknowledged, seq)
            self._changed.notify_all()

    async def head(self) -> int:
        return self._seq

    async def renumber(self, after: int) -> None:
        raise AssertionError("nothing was lost")

    # The inbox of the link.

    async def cursor(self) -> int:
        return self.received

    async def apply(self, entries: Sequence[wire.Entry]) -> int:
        async with self._changed:
            for entry in link.accept(self.received, entries):
                self.received = entry.seq
                signed = wire.Signed.FromString(entry.body)
                payload = identity.verify(self.member.order_key, signed)
                order = wire.SiteOrder.FromString(payload)
                assert order.site_id == self.id
                if order.HasField("document"):
                    self.orders[order.document.key] = desired(payload)
                else:
                    self.about_nodes.append(order)
            self._changed.notify_all()
        return self.received

    # What tests say and see.

    async def send(self, *bodies: bytes) -> None:
        """Report, and return once central has applied (or set aside) all of it."""
        for body in bodies:
            self._seq += 1
            self._reports.append(link.Outgoing(self._seq, body))
        self._told.set()
        wanted = self._seq
        async with asyncio.timeout(15), self._changed:
            await self._changed.wait_for(lambda: self._acknowledged >= wanted)

    async def report(self, *reports: wire.SiteReport) -> None:
        await self.send(*(report.SerializeToString() for report in reports))

    async def order(self, allocation: Json | str, revision: int = 1) -> wire.DesiredAllocation:
        """The desired document of an allocation, once its revision has come."""
        id = allocation if isinstance(allocation, str) else allocation["id"]

        def there() -> bool:
            return id in self.orders and self.orders[id].revision >= revision

        async with asyncio.timeout(15), self._changed:
            await self._changed.wait_for(there)
        return self.orders[id]

    async def told(self, kind: str, count: int = 1) -> wire.SiteOrder:
        """The newest order of this kind about a node, once there are so many."""

        def found() -> list[wire.SiteOrder]:
            return [order for order in self.about_nodes if order.WhichOneof("order") == kind]

        async with asyncio.timeout(15), self._changed:
            await self._changed.wait_for(lambda: len(found()) >= count)
        return found()[-1]

    async def ask_to_come_back(
        self, token: JoinToken, key: PrivateKey, topology: wire.Topology
    ) -> None:
        """Pass on that a node came back with this key and this hardware."""
        hardware = wire.Hardware(node_id=token.rejoins, token_id=token.id, topology=topology)
        asked = wire.ReenrolmentRequested(
            node_id=token.rejoins,
            token_id=token.id,
            public_key=key.public(),
            evidence=key.sign(hardware.SerializeToString()),
        )
        await self.report(wire.SiteReport(reenrolment=asked))

    async def add(self, node: Node, token_id: str = "") -> Node:
        """Enrol a node, connect it, discover it."""
        self.nodes[node.id] = node
        await self.report(
            wire.SiteReport(
                enrolled=wire.NodeEnrolled(
                    node_id=node.id,
                    name=node.name,
                    public_key=node.key.public(),
                    token_id=token_id,
                )
            ),
            wire.SiteReport(
                presence=wire.NodePresence(node_id=node.id, connected=True, at_us=now_us())
            ),
            wire.SiteReport(topology=node.signed_topology()),
        )
        return node

    async def observe(
        self,
        order: wire.DesiredAllocation,
        observed: "wire.Observed",
        *,
        at_us: int | None = None,
        reason: str = "",
    ) -> None:
        seen = wire.AllocationObserved(
            observed=observed,
            at_us=now_us() if at_us is None else at_us,
            reason=reason,
            fences=fences(order),
        )
        await self.report(on_lease(order, seen))

    async def step(
        self, order: wire.DesiredAllocation, workflow: str, step: str, *, revision: int = 0
    ) -> None:
        stepped = wire.Stepped(
            kind="lease",
            key=order.allocation_id,
            revision=revision or order.revision,
            workflow=workflow,
            step=step,
            status=wire.STEP_STATUS_DONE,
            at_us=now_us(),
        )
        await self.report(wire.SiteReport(stepped=stepped))

    def good_proofs(self, order: wire.DesiredAllocation) -> list[wire.Signed]:
        node = self.nodes[order.node_id]
        return [
            node.key.sign(proof(node, order, at).SerializeToString())
            for at in range(len(order.slots))
        ]

    async def clean(
        self, order: wire.DesiredAllocation, proofs: Sequence[wire.Signed] | None = None
    ) -> None:
        cleanup = wire.CleanupReported(proofs=self.good_proofs(order) if proofs is None else proofs)
        await self.report(on_lease(order, cleanup))


async def disputed(site: StandInSite, tenant: Tenant) -> str:
    """The id of a dispute: of a lease that its site calls active since before it was placed."""
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE, at_us=0)
    (found,) = (await tenant.viewer.get("/v1/disputes")).items
    return str(found["id"])


async def came_back(
    central: Central, site: StandInSite, node: Node, like: Node | None = None
) -> str:
    """The id of a re-enrolment that waits: of the node's hardware, or of another's."""
    issued = await central.platform.made(f"/v1/nodes/{node.id}/rejoin-token")
    token = JoinToken.decode(issued["token"])
    await site.ask_to_come_back(token, PrivateKey.generate(), (like or node).topology())
    listed = await central.platform.get("/v1/reenrolments", node=node.id)
    return str(listed.items[0]["id"])


async def joined(central: Central, folder: Path, name: str, **body: object) -> Member:
    """Announce a site and join as it, with a real token."""
    made = await central.platform.made("/v1/sites", **{"name": name, "auto_approve": True, **body})
    token = await central.platform.made(f"/v1/sites/{made['id']}/token")
    return await membership.join(folder, JoinToken.decode(token["token"]), name, with_ca=True)


@asynccontextmanager
async def connected(
    central: Central, folder: Path, name: str = "site-a", *, nodes: int = 0, **body: object
) -> AsyncGenerator[StandInSite, None]:
    """A joined site with its link up, and so many nodes of 8 GPUs."""
    member = await joined(central, folder, name, **body)
    site = StandInSite(member.id, member)
    dialling = asyncio.create_task(member.dial(site, site))
    try:
        described = wire.SiteDescribed(join_address="127.0.0.1:1", version="test")
        await site.report(wire.SiteReport(site=described))
        for number in range(nodes):
            await site.add(Node(f"{name}-n{number}"))
        yield site
    finally:
        dialling.cancel()
        with suppress(asyncio.CancelledError):
            await dialling
