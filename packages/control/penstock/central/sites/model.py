"""A site: a control plane of its own that realizes what central intends."""

from dataclasses import dataclass
from datetime import datetime

from penstock_contracts.ids import SiteId


@dataclass(frozen=True)
class Site:
    id: SiteId
    name: str
    auto_approve: bool
    public_key: bytes | None
    ca_public_key: bytes | None  # of the authority that signs its nodes
    join_address: str
    version: str
    connected: bool
    connected_at: datetime | None
    away: bool  # not connected for longer than the grace: nothing new is placed there
    tags: tuple[str, ...]
    created_at: datetime

    @property
    def status(self) -> str:
        if self.public_key is None:
            return "awaiting_join"
        return "connected" if self.connected else "disconnected"


def server_name(id: SiteId) -> str:
    """The DNS name in the certificates of a site's listeners."""
    return f"{id.suffix}.site.penstock.internal"
