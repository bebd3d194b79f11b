"""What happens to a pool of network numbers or addresses."""

from typing import Final

from penstock.central.pools.model import Kind
from penstock.kernel.catalogue import TEXT, Audience, EventType, id_of, one_of
from penstock_contracts.ids import PoolId, SiteId

EVENTS: Final = (
    EventType(
        "pool.created",
        "The platform has more network numbers or addresses to hand out.",
        Audience.PLATFORM,
        PoolId,
        {"name": TEXT, "kind": one_of(Kind), "site": id_of(SiteId).or_null, "bounds": TEXT},
    ),
)
