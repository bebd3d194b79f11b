"""What a node says of itself: enrolment, presence, topology. Evidence, not truth.

Discovery proposes slots. It never changes a slot that exists: a node whose evidence
contradicts what was accepted before, or claims a GPU that is another node's, is at
fault and takes no new work. Nor does one whose last evidence has a readiness check that
failed, until a later one passes; leases that run there go on.
"""

from google.protobuf import json_format

from penstock.central import fleet
from penstock.central.nodes import joining, store
from penstock.central.nodes.model import Node
from penstock.central.sites import service as sites
from penstock.central.slots import service as slots
from penstock.kernel import audit, authority, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import identity
from penstock_contracts.ids import NodeId, SiteId
from penstock_contracts.wire_pb2 import NodeEnrolled, NodePresence, Signed, TaskResult, Topology

GPUS_MAX = 64
NAME_LENGTH_MAX = 63
LEAF_LENGTH_MAX = 63
CHECK_LENGTH_MAX = 120
CHECKS_SAID_MAX = 3
AWAY_REASON_LENGTH_MAX = 300
CPUS_MAX = 1 << 16
NUMA_NODES_MAX = 1 << 10
MEMORY_MIB_MAX = 1 << 36  # 64 PiB


async def node_of(tx: Tx, site_id: SiteId, id: str) -> Node:
    """The site's own node: a site can say nothing of another's."""
    found = await store.find(tx, [NodeId(id)])
    if not found or found[0].site_id != site_id:
        raise Rejected(f"site {site_id} has no node {id[:64]!r}")
    return found[0]


async def enrolled(tx: Tx, site_id: SiteId, report: NodeEnrolled) -> None:
    await fleet.lock(tx)
    id = NodeId.parse(report.node_id)
    if not 1 <= len(report.name) <= NAME_LENGTH_MAX or not report.name.isprintable():
        raise Rejected(f"a node's name has 1 to {NAME_LENGTH_MAX} printable characters")
    if not authority.is_key(report.public_key):
        raise Rejected(f"node {id} came without a P-256 key")
    known = await store.find(tx, [id])
    if not await store.put(tx, id, site_id, report.name, report.public_key):
        # Its key vouches for its proofs: a site that could change it could make them itself.
        raise Rejected(f"node {id} belongs to another site, or was enrolled with another key")
    if not known:
        await joining.take_place(tx, site_id, id, report.token_id)
    await fleet.changed(tx, id)
    audit.record(
        tx, SYSTEM, "node.enrol", id, site=site_id, name=report.name,
        key=identity.fingerprint(report.public_key),
        before={"key": identity.fingerprint(known[0].public_key) if known else None},
    )  # fmt: skip
    events.emit(tx, "node.enrolled", id, site=site_id, name=report.name)


async def present(tx: Tx, site_id: SiteId, report: NodePresence) -> None:
    await fleet.lock(tx)
    node = await node_of(tx, site_id, report.node_id)
    if node.retired_at is not None:
        return  # said before the site heard of it
    away_reason = "" if report.connected else _line(report.reason, AWAY_REASON_LENGTH_MAX)
    if (node.connected, node.away_reason) == (report.connected, away_reason):
        return
    await store.set_presence(tx, node.id, report.connected, away_reason)
    await fleet.changed(tx, node.id)
    happened = "node.connected" if report.connected else "node.disconnected"
    events.emit(tx, happened, node.id, site=site_id, name=node.name, reason=away_reason)


async def discovered(tx: Tx, site_id: SiteId, signed: Signed) -> None:
    """A signed topology: verified with the node's own key before it is believed."""
    await fleet.lock(tx)
    claimed = TaskResult.FromString(signed.payload)
    node = await node_of(tx, site_id, claimed.node_id)
    if node.retired_at is not None:
        return
    result = TaskResult.FromString(identity.verify(node.public_key, signed))
    topology = result.topology
    fault = nonsense(topology) or await slots.propose(tx, node.id, topology)
    if fault:
        await store.set_fault(tx, node.id, fault)
        events.emit(tx, "node.faulted", node.id, fault=fault)
        await fleet.changed(tx, node.id)
        return
    await store.set_topology(
        tx,
        node.id,
        hardware=topology.hardware,
        family=topology.gpu_family,
        leaf=topology.fabric_leaf,
        unready=(unready := _unready(topology)),
        topology=json_format.MessageToDict(topology, preserving_proto_field_name=True),
    )
    await fleet.changed(tx, node.id)
    events.emit(tx, "node.discovered", node.id, hardware=topology.hardware, unready=unready)
    site = await sites.get(tx, SYSTEM, site_id)
    if site.auto_approve and not unready:
        await slots.approve_node(tx, SYSTEM, node.id, evidence="every readiness check passed")


def _unready(topology: Topology) -> str:
    """What of its evidence did not pass, in words; empty if all did."""
    failed = [check for check in topology.readiness if not check.passed]
    said = [f"{_line(c.check)}: {_line(c.detail)}" if c.detail else _line(c.check) for c in failed]
    more = f" and {len(said) - CHECKS_SAID_MAX} more" if len(said) > CHECKS_SAID_MAX else ""
    named = ", ".join(said[:CHECKS_SAID_MAX])
    return f"it is not ready: {named}{more} did not pass" if failed else ""


def _line(said: str, length_max: int = CHECK_LENGTH_MAX) -> str:
    """What a node says, as part of a sentence of ours."""
    return "".join(letter if letter.isprintable() else " " for letter in said[:length_max])


def nonsense(topology: Topology) -> str:
    """Why the topology cannot be one; empty if it can."""
    if not 1 <= len(topology.slots) <= GPUS_MAX:
        return f"it reports {len(topology.slots)} GPUs; 1 to {GPUS_MAX} are possible"
    if not topology.gpu_family or len(topology.gpu_family) > 63:
        return "it reports no GPU family"
    if len(topology.fabric_leaf) > LEAF_LENGTH_MAX:
        return f"the name of its fabric leaf is longer than {LEAF_LENGTH_MAX} characters"
    uuids = {slot.gpu_uuid for slot in topology.slots}
    if len(uuids) != len(topology.slots) or "" in uuids:
        return "it reports a GPU twice, or one without an identity"
    if {slot.index for slot in topology.slots} != set(range(len(topology.slots))):
        return "its slots are not numbered 0, 1, 2, …"
    parts = (topology, *topology.slots)
    if any(part.cpus > CPUS_MAX or part.memory_mib > MEMORY_MIB_MAX for part in parts):
        return "it reports more CPUs or memory than a machine can have"
    numas = max(topology.numa_nodes, *(slot.numa_node for slot in topology.slots))
    if numas > NUMA_NODES_MAX or topology.gpu_memory_mib > MEMORY_MIB_MAX:
        return "it reports more NUMA nodes or GPU memory than a machine can have"
    return ""
