"""Reports from a site, each to the noun it is about."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from google.protobuf.message import Message

from penstock.central.allocations import observation, orders
from penstock.central.allocations import reports as leases
from penstock.central.nodes import discovery
from penstock.central.nodes.health import service as health
from penstock.central.reenrolments import requests
from penstock.central.sites import service as sites
from penstock.kernel.db import Tx
from penstock.kernel.feed import Rejected
from penstock_contracts.failpoints import Failpoint
from penstock_contracts.ids import InvalidId, SiteId
from penstock_contracts.wire_pb2 import LeaseReport, Reported, SiteReport, Stepped

APPLIED: Final = Failpoint("central.report.applied")  # and not yet committed
Body = TypeVar("Body", bound=Message)


@dataclass(frozen=True)
class Kind(Generic[Body]):
    """Whom the reports on documents of a kind are for."""

    body: type[Body]
    stepped: Callable[[Tx, SiteId, Stepped], Awaitable[None]]
    reported: Callable[[Tx, SiteId, Reported, Body], Awaitable[None]]

    async def take(self, tx: Tx, site_id: SiteId, told: Reported) -> None:
        body = self.body.FromString(told.body)
        refuse_unstorable(body)
        await self.reported(tx, site_id, told, body)


KINDS: Final[Mapping[str, Kind[Any]]] = {
    orders.KIND: Kind(LeaseReport, observation.stepped, leases.reported),
}


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
        case "stepped":
            await _known(report.stepped.kind).stepped(tx, site_id, report.stepped)
        case "reported":
            await _known(report.reported.kind).take(tx, site_id, report.reported)
        case "reenrolment":
            await requests.requested(tx, site_id, report.reenrolment)
        case "health":
            await health.reported(tx, site_id, report.health)
        case "discrepancies":
            await health.compared(tx, site_id, report.discrepancies)
        case _:
            raise Rejected("this version does not know this kind of report")


def _known(kind: str) -> Kind[Any]:
    known = KINDS.get(kind)
    if known is None:
        raise Rejected(f"this version does not know documents of kind {kind[:64]!r}")
    return known
