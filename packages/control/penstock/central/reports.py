"""Reports from a site, each to the noun it is about."""

from collections.abc import Sequence
from typing import Final, cast

from google.protobuf.message import Message

from penstock.central.allocations import cleanup, observation
from penstock.central.nodes import discovery
from penstock.central.reenrolments import requests
from penstock.central.sites import service as sites
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import InvalidId, SiteId
from penstock_contracts.wire_pb2 import SiteReport

APPLIED: Final = Failpoint("central.report.applied")  # and not yet committed


async def handle(tx: Tx, site_id: SiteId, body: bytes) -> None:
    """Apply one report; Rejected if it cannot be from this site."""
    report = SiteReport.FromString(body)
    refuse_unstorable(report)
    tx.correlation_id = report.correlation_id[:64]
    try:
        await _dispatch(tx, site_id, report)
    except InvalidId as error:
        raise Rejected(str(error)) from error
    APPLIED.hit()


def refuse_unstorable(message: Message) -> None:
    """PostgreSQL has no NUL in text: refuse it here, not at the end of a whole batch."""
    for field, value in message.ListFields():
        several = cast("Sequence[object]", value) if field.is_repeated else (value,)
        for one in several:
            if isinstance(one, Message):
                refuse_unstorable(one)
            elif isinstance(one, str) and "\x00" in one:
                raise Rejected(f"{field.full_name} has a NUL character")


async def _dispatch(tx: Tx, site_id: SiteId, report: SiteReport) -> None:
    match report.WhichOneof("report"):
        case "site":
            await sites.describe(tx, site_id, report.site)
        case "enrolled":
            await discovery.enrolled(tx, site_id, report.enrolled)
        case "presence":
            await discovery.present(tx, site_id, report.presence)
        case "topology":
            await discovery.discovered(tx, site_id, report.topology)
        case "observed":
            await observation.observed(tx, site_id, report.observed)
        case "stepped":
            await observation.stepped(tx, site_id, report.stepped)
        case "cleanup":
            await cleanup.reported(tx, site_id, report.cleanup)
        case "reenrolment":
            await requests.requested(tx, site_id, report.reenrolment)
        case _:
            raise Rejected("this version does not know this kind of report")
