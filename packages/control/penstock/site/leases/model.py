"""A lease, as its document says it shall be. Pure."""

from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from penstock.site.documents.model import Document
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.wire_pb2 import DesiredAllocation

KIND: Final = "lease"


@dataclass(frozen=True)
class Lease:
    document: Document
    desired: DesiredAllocation

    @property
    def id(self) -> str:
        return self.document.key

    @property
    def released(self) -> bool:
        return self.desired.desired == wire.DESIRED_RELEASED


def decode(document: Document) -> Lease:
    try:
        desired = DesiredAllocation.FromString(document.body)
    except DecodeError as error:
        raise ValueError("its body is not a desired allocation") from error
    if (desired.allocation_id, desired.revision) != (document.key, document.revision):
        raise ValueError(
            f"its body is revision {desired.revision} of {desired.allocation_id[:64]!r}"
        )
    return Lease(document, desired)
