"""No reuse without proof: whatever is wrong with a proof, the slot stays claimed and says why."""

from collections.abc import Callable

import asyncpg
import pytest

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey

from .plane import Central, Json, Tenant
from .stand_in_site import Node, StandInSite, proof

pytestmark = pytest.mark.anyio

Spoil = Callable[[Node, wire.DesiredAllocation], list[wire.Signed]]


def altered(change: Callable[[wire.CleanupProof], object]) -> Spoil:
    """A proof that the node signed, with one thing wrong in it."""

    def spoil(node: Node, order: wire.DesiredAllocation) -> list[wire.Signed]:
        made = proof(node, order, 0)
        change(made)
        return [node.key.sign(made.SerializeToString())]

    return spoil


def fail_step(made: wire.CleanupProof) -> None:
    made.steps[1].passed = False
    made.steps[1].detail = "memory still holds data"


def fail_then_pass(made: wire.CleanupProof) -> None:
    """The same step twice: once failed, then passed."""
    made.steps.insert(0, wire.CleanupStep(name=made.steps[0].name, passed=False, detail="once"))


def drop_step(made: wire.CleanupProof) -> None:
    del made.steps[-1]


def set_field(name: str, value: object) -> Callable[[wire.CleanupProof], None]:
    return lambda made: setattr(made, name, value)


def missing(_node: Node, _order: wire.DesiredAllocation) -> list[wire.Signed]:
    return []


def wrong_key(node: Node, order: wire.DesiredAllocation) -> list[wire.Signed]:
    return [PrivateKey.generate().sign(proof(node, order, 0).SerializeToString())]


def flipped_bit(node: Node, order: wire.DesiredAllocation) -> list[wire.Signed]:
    signed = node.key.sign(proof(node, order, 0).SerializeToString())
    signed.signature = signed.signature[:-1] + bytes([signed.signature[-1] ^ 1])
    return [signed]


def garbage(_node: Node, _order: wire.DesiredAllocation) -> list[wire.Signed]:
    return [wire.Signed(payload=b"\xff\xff\xff", signature=b"\x00")]


SPOILED: dict[str, tuple[Spoil, str]] = {
    "missing": (missing, "no proof came for it"),
    "wrong key": (wrong_key, "not signed by the node's key"),
    "flipped bit": (flipped_bit, "not signed by the node's key"),
    "garbage": (garbage, "no proof came for it"),
    "wrong fence": (altered(set_field("fence", 9)), "fence 9, not 1"),
    "wrong nonce": (altered(set_field("nonce", b"n" * 16)), "does not answer"),
    "no nonce": (altered(set_field("nonce", b"")), "does not answer"),
    "another slot": (altered(set_field("slot_id", "slot_x")), "no proof came for it"),
    "another node": (altered(set_field("node_id", "node_x")), "for another slot"),
    "another lease": (altered(set_field("allocation_id", "alloc_x")), "not 1"),
    "missing step": (altered(drop_step), "step fabric.detached is missing"),
    "failed step": (altered(fail_step), "step gpu.memory_cleared failed: memory still"),
    "failed and passed": (altered(fail_then_pass), "step runtime.destroyed failed: once"),
}


async def released(site: StandInSite, tenant: Tenant, gpus: int = 1) -> wire.DesiredAllocation:
    """A lease that was active and is to be released."""
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=gpus)
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    order = await site.order(lease, revision=2)
    await site.observe(order, wire.OBSERVED_STOPPING)
    return order


async def slot(central: Central, order: wire.DesiredAllocation, at: int = 0) -> Json:
    return (await central.platform.get(f"/v1/slots/{order.slots[at].slot_id}")).json


async def test_a_proof_with_anything_wrong_frees_nothing_and_says_why(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """One lease after another on the same slot; each spoiled proof, then a good one."""
    for number, (name, (spoil, reason)) in enumerate(SPOILED.items()):
        order = await released(site, tenant)
        order_fence = order.slots[0].fence
        node = site.nodes[order.node_id]
        await site.clean(order, spoil(node, order))
        stuck = await slot(central, order)
        assert (stuck["state"], stuck["allocation"]) == ("cleanup_blocked", order.allocation_id)
        assert reason.replace("not 1", f"not {order_fence}") in stuck["reason"], name
        shown = (await tenant.member.get(f"/v1/allocations/{order.allocation_id}")).json
        assert shown["status"] == "cleanup_blocked"
        assert stuck["reason"] in shown["reason"]
        posture = (await central.platform.get(f"/v1/nodes/{node.id}")).json
        assert posture["posture"] == "cleanup_blocked"
        assert await central.value("SELECT count(*) FROM cleanup_proofs") == number
        await central.platform.made(f"/v1/slots/{order.slots[0].slot_id}/cleanup")
        await site.clean(await site.order(order.allocation_id, revision=3))
        assert (await slot(central, order))["state"] == "approved"
    assert await central.violations() == {}


async def test_a_proof_of_an_older_lease_does_not_count_again(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    first = await released(site, tenant)
    old = site.good_proofs(first)
    await site.clean(first)
    second = await released(site, tenant)
    assert second.slots[0].slot_id == first.slots[0].slot_id
    assert second.slots[0].fence > first.slots[0].fence
    await site.clean(second, old)
    assert (await slot(central, second))["state"] == "cleanup_blocked"


async def test_a_retry_asks_with_a_new_nonce_and_the_old_proof_no_longer_counts(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await released(site, tenant)
    late = site.good_proofs(order)
    await site.clean(order, [])
    await central.platform.made(f"/v1/slots/{order.slots[0].slot_id}/cleanup")
    again = await site.order(order.allocation_id, revision=3)
    assert again.slots[0].cleanup_nonce != order.slots[0].cleanup_nonce
    await site.clean(order, late)  # answers revision 2, which was replaced
    assert (await slot(central, order))["state"] == "cleaning"
    await site.clean(again, late)  # pretends to answer revision 3
    assert "does not answer what was asked last" in (await slot(central, order))["reason"]
    assert await central.value("SELECT count(*) FROM cleanup_proofs") == 0


async def test_only_the_proven_slots_of_a_lease_are_freed(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    order = await released(site, tenant, gpus=2)
    good = site.good_proofs(order)
    await site.clean(order, good[:1])
    assert (await slot(central, order, 0))["state"] == "approved"
    assert (await slot(central, order, 1))["state"] == "cleanup_blocked"
    await central.platform.made(f"/v1/slots/{order.slots[1].slot_id}/cleanup")
    rest = await site.order(order.allocation_id, revision=3)
    assert [s.slot_id for s in rest.slots] == [order.slots[1].slot_id]
    await site.clean(rest)
    shown = (await tenant.member.get(f"/v1/allocations/{order.allocation_id}")).json
    assert shown["status"] == "released"
    assert await central.violations() == {}


async def test_a_proof_for_a_lease_that_nobody_released_is_rejected(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    order = await site.order(lease)
    await site.observe(order, wire.OBSERVED_ACTIVE)
    await site.clean(order)
    assert (await slot(central, order))["state"] == "claimed"
    assert await central.value("SELECT count(*) FROM feed_rejections") == 1
    shown = (await tenant.member.get(f"/v1/allocations/{lease['id']}")).json
    assert shown["status"] == "active"


async def test_a_slot_that_is_not_blocked_cannot_be_cleaned_again(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    refused = await central.platform.post(f"/v1/slots/{lease['slots'][0]}/cleanup")
    assert (refused.status, refused.code) == (409, "conflict")


async def test_the_database_itself_frees_nothing_without_a_proof(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    """The last wall: even central's own role cannot."""
    order = await released(site, tenant)
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await central.execute("UPDATE claims SET freed_at = now()")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await central.execute(
            "INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at,"
            " freed_at) SELECT slot_id, fence + 1, allocation_id, tenant_id, node_id, now(), now()"
            " FROM claims"
        )
    assert (await slot(central, order))["state"] == "cleaning"
