"""A node that lost its key comes back only if an operator says so, on what it is made of."""

from typing import Any

import pytest

from penstock_contracts import identity
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey
from penstock_contracts.join import JoinToken

from . import stand_in_site
from .plane import Central, Json, Tenant
from .stand_in_site import Node, StandInSite

pytestmark = pytest.mark.anyio

WHY = "its serial is on the box"


@pytest.fixture
def node(site: StandInSite) -> Node:
    (only,) = site.nodes.values()
    return only


async def rejoin_token(central: Central, node: Node) -> JoinToken:
    issued = await central.platform.made(f"/v1/nodes/{node.id}/rejoin-token")
    token = JoinToken.decode(issued["token"])
    assert token.rejoins == node.id
    return token


async def asked(
    central: Central, site: StandInSite, node: Node, topology: wire.Topology | None = None
) -> tuple[str, PrivateKey]:
    """A re-enrolment that waits, and its key."""
    token, key = await rejoin_token(central, node), PrivateKey.generate()
    await site.ask_to_come_back(token, key, topology or node.topology())
    waiting = (await central.platform.get("/v1/reenrolments", node=node.id, status="waiting")).items
    return str(waiting[-1]["id"]), key


async def decide(central: Central, id: str, verb: str) -> Any:
    return await central.platform.post(f"/v1/reenrolments/{id}/{verb}", reason=WHY)


async def key_of(central: Central, node: Node) -> bytes:
    return bytes(await central.value("SELECT public_key FROM nodes WHERE id = $1", node.id))


async def rejections(central: Central) -> list[str]:
    return [row["reason"] for row in await central.rows("SELECT reason FROM feed_rejections")]


async def test_what_a_node_is_made_of_is_shown_and_nothing_is_trusted(
    central: Central, site: StandInSite, node: Node
) -> None:
    id, key = await asked(central, site, node)
    seen = (await central.platform.get(f"/v1/reenrolments/{id}")).json
    assert (seen["status"], seen["differs"], seen["node"]) == ("waiting", "", node.id)
    assert seen["key"] == identity.fingerprint(key.public())
    assert seen["key_in_force"] == identity.fingerprint(node.key.public())
    parts: dict[str, Json] = {part["kind"]: part for part in seen["parts"]}
    assert [len(parts[kind]["same"]) for kind in ("gpu", "nvme", "fabric", "product")] == [
        8, 8, 8, 0,
    ]  # fmt: skip
    assert await key_of(central, node) == node.key.public()
    await site.report(wire.SiteReport(topology=node.signed_topology(key=key)))
    assert await rejections(central) == ["the signature does not match the key and the payload"]


async def test_after_approval_only_the_new_key_proves_and_leases_end_by_the_ordinary_road(
    central: Central, site: StandInSite, node: Node, tenant: Tenant
) -> None:
    active, leaving = [
        await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
        for _ in range(2)
    ]
    for lease in (active, leaving):
        await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    await tenant.member.made(f"/v1/allocations/{leaving['id']}/release")
    id, key = await asked(central, site, node)
    approved = await decide(central, id, "approve")
    assert (approved.status, approved.json["status"]) == (200, "approved")
    told = (await site.told("node_key")).node_key
    assert (told.node_id, told.public_key) == (node.id, key.public())
    assert await key_of(central, node) == key.public()

    releasing = await site.order(active, revision=2)
    assert releasing.desired == wire.DESIRED_RELEASED
    again = await site.order(leaving, revision=3)
    assert again.desired == wire.DESIRED_RELEASED, "its task may be lost with the journal"
    await site.observe(releasing, wire.OBSERVED_STOPPING)
    await site.clean(releasing)
    seen = (await tenant.member.get(f"/v1/allocations/{active['id']}")).json
    assert seen["status"] == "cleanup_blocked", "the old key proves nothing any more"
    (slot, _) = active["slots"]
    await central.platform.made(f"/v1/slots/{slot}/cleanup")
    node.key = key
    await site.clean(await site.order(active, revision=3))
    await site.observe(again, wire.OBSERVED_STOPPING)
    await site.clean(again)
    for lease in (active, leaving):
        seen = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
        assert seen["status"] == "released"
    await site.report(wire.SiteReport(topology=node.signed_topology()))
    new = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=4)
    fences = {slot.fence for slot in (await site.order(new)).slots}
    assert min(fences) > max(slot.fence for slot in (*releasing.slots, *again.slots))
    assert await central.violations() == {}
    same = await decide(central, id, "approve")
    assert same.json == (await central.platform.get(f"/v1/reenrolments/{id}")).json
    assert await rejections(central) == []


async def test_other_hardware_is_shown_and_cannot_be_approved(
    central: Central, site: StandInSite, node: Node
) -> None:
    swapped = node.topology()
    swapped.slots[3].gpu_uuid = "GPU-another"
    id, _ = await asked(central, site, node, swapped)
    seen = (await central.platform.get(f"/v1/reenrolments/{id}")).json
    (gpus,) = [part for part in seen["parts"] if part["kind"] == "gpu"]
    assert (gpus["gone"], gpus["new"]) == ([f"GPU-{node.name}-3"], ["GPU-another"])
    assert seen["differs"] == "1 of its gpu devices are gone and 1 are new"
    refused = await decide(central, id, "approve")
    assert (refused.status, refused.code) == (409, "hardware_differs")
    assert await key_of(central, node) == node.key.public()

    rejected = await decide(central, id, "reject")
    assert rejected.json["status"] == "rejected"
    assert (await site.told("reenrolment_rejected")).reenrolment_rejected.reason == WHY
    assert (await decide(central, id, "approve")).code == "already_decided"
    assert await key_of(central, node) == node.key.public()


async def test_a_replaced_board_is_shown_and_an_operator_may_approve_it(
    central: Central, site: StandInSite, node: Node
) -> None:
    other = node.topology()
    other.product_serial = "BOARD-2"
    id, key = await asked(central, site, node, other)
    seen = (await central.platform.get(f"/v1/reenrolments/{id}")).json
    (product,) = [part for part in seen["parts"] if part["kind"] == "product"]
    assert (product["new"], seen["differs"]) == (["BOARD-2"], "")
    assert (await decide(central, id, "approve")).status == 200
    assert await key_of(central, node) == key.public()


async def test_repeated_requests_are_one_and_of_several_keys_one_is_approved(
    central: Central, site: StandInSite, node: Node
) -> None:
    token, key = await rejoin_token(central, node), PrivateKey.generate()
    for _ in range(3):
        await site.ask_to_come_back(token, key, node.topology())
    (first,) = (await central.platform.get("/v1/reenrolments")).items
    second, other = await asked(central, site, node)
    assert (await decide(central, second, "approve")).status == 200
    assert (await site.told("reenrolment_rejected")).reenrolment_rejected.token_id == token.id
    assert (await central.platform.get(f"/v1/reenrolments/{first['id']}")).json["status"] == (
        "rejected"
    )
    assert (await decide(central, first["id"], "approve")).code == "already_decided"
    assert await key_of(central, node) == other.public()


async def test_a_site_cannot_make_up_a_way_back(
    central: Central, site: StandInSite, node: Node, tmp_path: Any
) -> None:
    """Without a token for this node, with another's, for another site's node, or with evidence that
    is not this key's: set aside, and nothing is asked of anybody."""
    other = await site.add(Node("second"))
    token, key = await rejoin_token(central, node), PrivateKey.generate()
    hardware = wire.Hardware(node_id=node.id, token_id=token.id, topology=node.topology())
    good = wire.ReenrolmentRequested(
        node_id=node.id,
        token_id=token.id,
        public_key=key.public(),
        evidence=key.sign(hardware.SerializeToString()),
    )

    def altered(**fields: Any) -> wire.SiteReport:
        changed = wire.ReenrolmentRequested()
        changed.CopyFrom(good)
        for name, value in fields.items():
            if name == "evidence":
                changed.evidence.CopyFrom(value)
            else:
                setattr(changed, name, value)
        return wire.SiteReport(reenrolment=changed)

    ordinary = (await central.platform.made(f"/v1/sites/{site.id}/node-tokens", count=1))["items"][
        0
    ]["id"]
    elsewhere = wire.Hardware(node_id=other.id, token_id=token.id, topology=node.topology())
    await site.report(
        altered(token_id=ordinary),
        altered(node_id=other.id),
        altered(public_key=PrivateKey.generate().public()),
        altered(public_key=b"x"),
        altered(public_key=other.key.public()),
        altered(public_key=node.key.public()),
        altered(evidence=key.sign(elsewhere.SerializeToString())),
        altered(evidence=key.sign(b"")),
    )
    assert len(await rejections(central)) == 8
    async with stand_in_site.connected(central, tmp_path / "thief", "thief") as thief:
        await thief.report(altered())
    assert f"has no node '{node.id}'" in (await rejections(central))[-1]
    assert (await central.platform.get("/v1/reenrolments")).items == []
    await site.report(altered())
    assert len((await central.platform.get("/v1/reenrolments")).items) == 1
    assert await key_of(central, node) == node.key.public()


async def test_evidence_that_cannot_be_is_refused_with_words(
    central: Central, site: StandInSite, node: Node
) -> None:
    token = await rejoin_token(central, node)
    await site.ask_to_come_back(token, PrivateKey.generate(), wire.Topology())
    reason = (await site.told("reenrolment_rejected")).reenrolment_rejected.reason
    assert reason == "its evidence cannot be: it reports 0 GPUs; 1 to 64 are possible"
    assert (await central.platform.get("/v1/reenrolments")).items == []


async def test_a_node_that_never_said_what_it_is_made_of_cannot_come_back(
    central: Central, site: StandInSite, node: Node
) -> None:
    await central.execute("UPDATE nodes SET topology = NULL WHERE id = $1", node.id)
    id, _ = await asked(central, site, node)
    refused = await decide(central, id, "approve")
    assert (refused.status, refused.code) == (409, "hardware_differs")


async def test_a_node_that_is_being_retired_may_come_back_to_clean_up(
    central: Central, site: StandInSite, node: Node, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=2)
    await central.platform.made(f"/v1/nodes/{node.id}/retire", reason="its disk died")
    id, key = await asked(central, site, node)
    assert (await decide(central, id, "approve")).status == 200
    node.key = key
    await site.clean(await site.order(lease, revision=2))
    assert (await central.platform.get(f"/v1/nodes/{node.id}")).json["posture"] == "retired"
    assert await central.violations() == {}
