"""Proofs that a node could send, good ones and every kind that must not count."""

from collections.abc import Callable
from typing import Final

from penstock_contracts import wire_pb2 as wire
from penstock_contracts.identity import PrivateKey

from .stage import Node

STRANGER: Final = PrivateKey.generate()
Forge = Callable[[wire.CleanupProof, Node], wire.Signed | None]


def _signed(proof: wire.CleanupProof, node: Node) -> wire.Signed:
    return node.key.sign(proof.SerializeToString())


def _stranger(proof: wire.CleanupProof, _node: Node) -> wire.Signed:
    return STRANGER.sign(proof.SerializeToString())


def _missing(_proof: wire.CleanupProof, _node: Node) -> None:
    return None


def _altered(change: Callable[[wire.CleanupProof], object]) -> Forge:
    def forge(proof: wire.CleanupProof, node: Node) -> wire.Signed:
        change(proof)
        return _signed(proof, node)

    return forge


def _fail(proof: wire.CleanupProof) -> None:
    proof.steps[0].passed = False


def _raise_fence(proof: wire.CleanupProof) -> None:
    proof.fence += 1


GOOD: Final = "good"
FORGES: Final[dict[str, Forge]] = {
    GOOD: _signed,
    "missing": _missing,
    "another's key": _stranger,
    "another fence": _altered(_raise_fence),
    "another nonce": _altered(lambda proof: setattr(proof, "nonce", b"n" * 16)),
    "a failed step": _altered(_fail),
    "a step left out": _altered(lambda proof: proof.steps.pop()),
}


def make(kind: str, order: wire.DesiredAllocation, at: int, node: Node) -> wire.Signed | None:
    """A proof for the slot at this place of the order; None if this kind is none."""
    slot = order.slots[at]
    proof = wire.CleanupProof(
        node_id=node.id,
        slot_id=slot.slot_id,
        allocation_id=order.allocation_id,
        fence=slot.fence,
        nonce=slot.cleanup_nonce,
        steps=[wire.CleanupStep(name=name, passed=True) for name in slot.cleanup_steps],
    )
    return FORGES[kind](proof, node)


def report(order: wire.DesiredAllocation, proofs: list[wire.Signed]) -> wire.SiteReport:
    return _told(order, wire.LeaseReport(cleanup=wire.CleanupReported(proofs=proofs)))


def _told(order: wire.DesiredAllocation, report: wire.LeaseReport) -> wire.SiteReport:
    return wire.SiteReport(
        reported=wire.Reported(
            kind="lease",
            key=order.allocation_id,
            revision=order.revision,
            body=report.SerializeToString(),
        )
    )


def fences(order: wire.DesiredAllocation) -> list[wire.SlotFence]:
    return [wire.SlotFence(slot_id=slot.slot_id, fence=slot.fence) for slot in order.slots]


def failed(order: wire.DesiredAllocation) -> wire.SiteReport:
    seen = wire.AllocationObserved(
        observed=wire.OBSERVED_FAILED,
        at_us=1,
        reason="it did not boot",
        fences=fences(order),
    )
    return _told(order, wire.LeaseReport(observed=seen))
