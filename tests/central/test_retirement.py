"""A node is retired once it holds nothing, and for ever; another machine takes its place."""

import asyncio
from collections import Counter

import pytest

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.join import JoinToken

from .plane import Central, Json, Tenant
from .stand_in_site import Node, StandInSite, now_us

pytestmark = pytest.mark.anyio

WHY = "its board is dead"
LEASE: Json = {"project": "main", "sku": "h100.slice", "gpus": 2}


def only(site: StandInSite) -> Node:
    (node,) = site.nodes.values()
    return node


async def retire(central: Central, node: Node) -> Json:
    return await central.platform.made(f"/v1/nodes/{node.id}/retire", reason=WHY)


async def shown(central: Central, node: Node) -> Json:
    return (await central.platform.get(f"/v1/nodes/{node.id}")).json


async def slot_states(central: Central, node: Node) -> Counter[str]:
    listed = await central.platform.get(f"/v1/nodes/{node.id}/slots")
    return Counter(slot["state"] for slot in listed.items)


async def let_go(central: Central, site: StandInSite, tenant: Tenant, lease: Json) -> None:
    """Release a lease, with proof."""
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    order = await site.order(lease, revision=2)
    await site.observe(order, wire.OBSERVED_STOPPING)
    await site.clean(order)


async def test_an_idle_node_is_retired_at_once_and_its_site_is_told(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    node = only(site)
    retired = await retire(central, node)
    assert (retired["posture"], retired["posture_reason"]) == ("retired", WHY)
    assert (retired["connected"], retired["gpus_free"]) == (False, 0)
    assert (await site.told("node_retired")).node_retired.node_id == node.id
    assert await slot_states(central, node) == {"retired": 9}
    assert (await central.platform.get("/v1/nodes")).items == []
    (listed,) = (await central.platform.get("/v1/nodes", retired="true")).items
    assert listed["id"] == node.id, "its history stays readable"
    refused = await tenant.member.post("/v1/allocations", **LEASE)
    assert refused.code == "sku_unavailable"
    assert await retire(central, node) == retired, "asking again changes nothing"
    assert await central.violations() == {}


async def test_a_node_with_a_lease_is_retiring_until_its_cleanup_is_proven(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    node = only(site)
    lease = await tenant.member.made("/v1/allocations", **LEASE)
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    retiring = await retire(central, node)
    assert (retiring["posture"], retiring["retired_at"]) == ("retiring", None)
    refused = await tenant.member.post("/v1/allocations", **LEASE)
    assert refused.code == "sku_unavailable", "nothing new comes there"
    running = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
    assert running["status"] == "active", "leases that run go on"
    await let_go(central, site, tenant, lease)
    assert (await shown(central, node))["posture"] == "retired"
    assert await slot_states(central, node) == {"retired": 9}
    assert await central.violations() == {}


async def test_a_dead_node_is_retired_by_abandonment_and_unproven_gpus_never_come_back(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    node = only(site)
    lease = await tenant.member.made("/v1/allocations", **LEASE)
    await retire(central, node)
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    assert (await shown(central, node))["posture"] == "retiring"
    await central.platform.made(f"/v1/allocations/{lease['id']}/abandon", reason="it burned")
    assert (await shown(central, node))["posture"] == "retired"
    assert await slot_states(central, node) == {"retired": 7, "cleanup_blocked": 2}
    assert await central.violations() == {}

    unproven = await site.add(Node("unproven"))
    found = await central.rows("SELECT gpu_uuid FROM slots WHERE id = ANY($1)", lease["slots"])
    dirty = {row["gpu_uuid"] for row in found}
    topology = node.topology()
    await site.report(wire.SiteReport(topology=unproven.signed_topology(topology)))
    assert f"which is node {node.id}'s" in (await shown(central, unproven))["posture_reason"]
    clean = [slot for slot in topology.slots if slot.gpu_uuid not in dirty]
    for index, slot in enumerate(clean):
        slot.index = index
    del topology.slots[:]
    topology.slots.extend(clean)
    other = Node("other")
    site.nodes[other.id] = other
    await site.report(
        wire.SiteReport(
            enrolled=wire.NodeEnrolled(
                node_id=other.id, name=other.name, public_key=other.key.public()
            )
        ),
        wire.SiteReport(topology=other.signed_topology(topology)),
    )
    assert (await shown(central, other))["gpus_free"] == 6, "what was proven clean may"


async def test_another_machine_takes_the_place_of_a_retired_node(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    old = only(site)
    early = await central.platform.post(f"/v1/nodes/{old.id}/replace")
    assert (early.status, early.code) == (409, "node_not_retired")
    await retire(central, old)
    issued = await central.platform.made(f"/v1/nodes/{old.id}/replace")
    permission = (await site.told("node_token")).node_token
    assert (permission.token_id, permission.name) == (issued["id"], old.name)
    assert JoinToken.decode(issued["token"]).rejoins == ""

    new = await site.add(Node(old.name), issued["id"])
    assert (await shown(central, new))["replaces"] == old.id
    assert (await shown(central, old))["replaced_by"] == new.id
    lease = await tenant.member.made("/v1/allocations", **LEASE)
    assert lease["node"] == new.id, "its GPUs are the same, and clean"
    again = await central.platform.post(f"/v1/nodes/{old.id}/replace")
    assert (again.status, again.code) == (409, "node_replaced")
    assert await central.violations() == {}


async def test_there_is_no_way_back(central: Central, site: StandInSite) -> None:
    node = only(site)
    await retire(central, node)
    for call in ("drain", "undrain", "rejoin-token"):
        refused = await central.platform.post(f"/v1/nodes/{node.id}/{call}")
        assert (refused.status, refused.code) == (409, "node_retired"), call
    changed = await central.platform.send("PATCH", f"/v1/nodes/{node.id}", json={"tags": ["x"]})
    assert changed.code == "node_retired"
    was = await shown(central, node)
    present = wire.NodePresence(node_id=node.id, connected=True, at_us=now_us())
    await site.report(
        wire.SiteReport(presence=present), wire.SiteReport(topology=node.signed_topology())
    )
    assert await shown(central, node) == was, "what was said before its site heard of it"
    assert await central.violations() == {}


async def test_of_leases_that_race_with_a_retirement_none_lands_behind_it(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """Each is placed before it, and is waited for; or after it, and elsewhere or not at all."""
    nodes = [only(site), *[await site.add(Node(f"extra-{n}")) for n in range(3)]]
    asks = [
        tenant.member.post("/v1/allocations", project="main", sku="h100.slice", gpus=1)
        for _ in range(24)
    ]
    retirements = [
        central.platform.post(f"/v1/nodes/{node.id}/retire", reason=WHY) for node in nodes
    ]
    mixed = [call for pair in zip(asks[::6], retirements, strict=True) for call in pair]
    answers = await asyncio.gather(*asks[1::2], *mixed, *asks[2::6], *asks[4::6])
    placed = [a.json for a in answers if a.status == 201]
    assert {a.status for a in answers} <= {201, 202, 409}
    held = Counter(lease["node"] for lease in placed)
    for node in nodes:
        posture = (await shown(central, node))["posture"]
        assert posture == ("retiring" if held[node.id] else "retired")
    assert (await tenant.member.post("/v1/allocations", **LEASE)).code == "sku_unavailable"
    assert await central.violations() == {}
    for lease in placed:
        await let_go(central, site, tenant, lease)
    assert {(await shown(central, node))["posture"] for node in nodes} == {"retired"}
    assert await central.violations() == {}
