"""A re-enrolment: the evidence of a machine that says it is a node that lost its key. Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from penstock_contracts.ids import NodeId, ReenrolmentId, SiteId, TokenId
from penstock_contracts.wire_pb2 import Topology


class Outcome(StrEnum):
    WAITING = "waiting"  # for an operator's decision; nothing of it is trusted
    APPROVED = "approved"  # the node is who holds the new key
    REJECTED = "rejected"  # the node is who it was


class PartKind(StrEnum):
    GPU = "gpu"  # UUIDs
    NVME = "nvme"  # serial numbers
    FABRIC = "fabric"  # GUIDs
    PRODUCT = "product"  # the machine's own serial number; no slot has it


@dataclass(frozen=True)
class Part:
    """One kind of identities: which the node had and has, which are gone, which are new."""

    kind: PartKind
    same: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return bool(self.gone or self.new)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Part":
        return cls(
            PartKind(fields["kind"]),
            tuple(fields["same"]),
            tuple(fields["gone"]),
            tuple(fields["new"]),
        )


@dataclass(frozen=True)
class Reenrolment:
    id: ReenrolmentId
    node_id: NodeId
    node_name: str
    site_id: SiteId
    token_id: TokenId
    public_key: bytes
    key_in_force: bytes  # the node's, now
    parts: tuple[Part, ...]
    requested_at: datetime
    status: Outcome
    decided_at: datetime | None
    decided_by: str
    decided_reason: str


def compare(had: Topology, has: Topology) -> tuple[Part, ...]:
    return tuple(_part(kind, _identities(had, kind), _identities(has, kind)) for kind in PartKind)


def other_hardware(parts: Iterable[Part]) -> str:
    """Why this cannot be the node: its slots are of other devices. Empty if they are the same."""
    for part in parts:
        if part.kind is PartKind.PRODUCT:
            continue  # a board is replaced, and its slots are what they were: an operator decides
        if part.differs:
            return (
                f"{len(part.gone)} of its {part.kind} devices are gone and {len(part.new)} are new"
            )
        if part.kind is PartKind.GPU and not part.same:
            return "the node never said what it is made of"
    return ""


def _identities(topology: Topology, kind: PartKind) -> frozenset[str]:
    match kind:
        case PartKind.GPU:
            found = {slot.gpu_uuid for slot in topology.slots}
        case PartKind.NVME:
            found = {slot.nvme_serial for slot in topology.slots}
        case PartKind.FABRIC:
            found = {slot.fabric_guid for slot in topology.slots}
        case PartKind.PRODUCT:
            found = {topology.product_serial}
    return frozenset(found - {""})


def _part(kind: PartKind, had: frozenset[str], has: frozenset[str]) -> Part:
    same, gone, new = (tuple(sorted(ids)) for ids in (had & has, had - has, has - had))
    return Part(kind, same, gone, new)
