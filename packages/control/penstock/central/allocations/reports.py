"""What sites report of leases, each report to what it is about."""

from penstock.central.allocations import cleanup, observation
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts.ids import SiteId
from penstock_contracts.wire_pb2 import LeaseReport, Reported


async def reported(tx: Tx, site_id: SiteId, told: Reported, body: LeaseReport) -> None:
    match body.WhichOneof("report"):
        case "observed":
            await observation.observed(tx, site_id, told, body.observed)
        case "cleanup":
            await cleanup.reported(tx, site_id, told, body.cleanup)
        case _:
            raise Rejected("this version does not know this kind of report on a lease")
