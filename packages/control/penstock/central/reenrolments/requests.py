"""What a site passes on: a node came back with a new key. Kept and shown; nothing is trusted.

A site can make up such a request, evidence and all, but only with a token that an operator made for
this node, and only to have it looked at.
"""

from google.protobuf import json_format

from penstock.central import fleet
from penstock.central.nodes import discovery, joining
from penstock.central.nodes import service as nodes
from penstock.central.reenrolments import model, orders, store
from penstock.kernel import audit, authority, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts import identity
from penstock_contracts.ids import ReenrolmentId, SiteId, TokenId
from penstock_contracts.wire_pb2 import Hardware, ReenrolmentRequested, Topology


async def requested(tx: Tx, site_id: SiteId, report: ReenrolmentRequested) -> None:
    await fleet.lock(tx)
    node = await discovery.node_of(tx, site_id, report.node_id)
    token_id = TokenId.parse(report.token_id)
    if await joining.rejoins(tx, token_id) != node.id:
        raise Rejected(f"nobody made token {token_id} for node {node.id} to come back with")
    if not authority.is_key(report.public_key):
        raise Rejected(f"node {node.id} came back without a P-256 key")
    if await nodes.owner_of_key(tx, report.public_key) is not None:
        raise Rejected(f"node {node.id} came back with a key that is enrolled already")
    hardware = Hardware.FromString(identity.verify(report.public_key, report.evidence))
    if (hardware.node_id, hardware.token_id) != (node.id, token_id):
        raise Rejected(f"the evidence is not for node {node.id} and token {token_id}")
    if refusal := _refusal(hardware.topology, retired=node.retired_at is not None):
        orders.reject(tx, site_id, token_id, refusal)
        return
    parts = model.compare(await nodes.topology(tx, node.id), hardware.topology)
    id = ReenrolmentId.new()
    evidence = json_format.MessageToDict(hardware.topology, preserving_proto_field_name=True)
    if not await store.add(tx, id, node.id, token_id, report.public_key, evidence, parts):
        return
    key, differs = identity.fingerprint(report.public_key), model.other_hardware(parts)
    audit.record(
        tx, SYSTEM, "reenrolment.request", id, node=node.id, site=site_id, token=token_id, key=key,
        differs=differs,
    )  # fmt: skip
    events.emit(
        tx, "reenrolment.requested", id, node=node.id, site=site_id, key=key, differs=differs
    )


def _refusal(topology: Topology, *, retired: bool) -> str:
    if retired:
        return "the node is retired; join as a new one"
    nonsense = discovery.nonsense(topology)
    return f"its evidence cannot be: {nonsense}" if nonsense else ""
