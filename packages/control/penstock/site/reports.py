"""Reports to central: appended in the transaction that learned the fact."""

from typing import Final

from penstock.kernel import feed
from penstock.kernel.db import Tx
from penstock_contracts.wire_pb2 import SiteReport

FEED: Final = "central"


def send(tx: Tx, report: SiteReport) -> None:
    if not report.correlation_id:
        report.correlation_id = tx.correlation_id
    feed.append(tx, FEED, report.SerializeToString())
