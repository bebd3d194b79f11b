"""What a site is told of a re-enrolment that came to nothing."""

from penstock.central.sites import service as sites
from penstock.kernel import feed
from penstock.kernel.db import Tx
from penstock_contracts.ids import SiteId, TokenId
from penstock_contracts.wire_pb2 import ReenrolmentRejected, SiteOrder


def reject(tx: Tx, site_id: SiteId, token_id: TokenId, reason: str) -> None:
    rejected = ReenrolmentRejected(token_id=token_id, reason=reason)
    order = SiteOrder(site_id=site_id, reenrolment_rejected=rejected)
    feed.append(tx, sites.orders(site_id), order.SerializeToString())
