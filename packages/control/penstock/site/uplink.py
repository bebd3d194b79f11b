"""The site's end of the site link: orders down, reports up.

Of several processes of a site, the one that holds the uplink's lock dials; when it dies, or its
database session ends, the next one gets the lock. Who declares it dead ends its session.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from google.protobuf.message import DecodeError

from penstock.kernel import leadership, log, loops, sessions
from penstock.kernel.db import Database, Tx
from penstock.kernel.feed import Inbox, Outbox, Rejected
from penstock.kernel.loops import Alone, Loop
from penstock.kernel.wakeups import Wakeups
from penstock.site import reports
from penstock.site.documents import service as documents
from penstock.site.documents.service import Decode
from penstock.site.nodes import enrolment, reenrolment
from penstock_contracts import VERSION, identity
from penstock_contracts.link import ProtocolViolated
from penstock_contracts.membership import Member
from penstock_contracts.wire_pb2 import Signed, SiteDescribed, SiteOrder, SiteReport

LOCK: Final = 0x55504C4B  # "UPLK"
SOURCE: Final = "central"
logger = log.get(__name__)


async def handle(member: Member, kinds: Mapping[str, Decode], tx: Tx, body: bytes) -> None:
    order = _verified(member, body)
    match order.WhichOneof("order"):
        case "document":
            tx.correlation_id = order.document.correlation_id
            await documents.receive(tx, kinds, order.document)
        case "node_token":
            await enrolment.permit(tx, order.node_token)
        case "node_retired":
            await reenrolment.retire(tx, order.node_retired)
        case "node_key":
            await reenrolment.replace_key(tx, order.node_key)
        case "reenrolment_rejected":
            await reenrolment.reject(tx, order.reenrolment_rejected)
        case _:
            raise Rejected("this version does not know this kind of order")


def _verified(member: Member, body: bytes) -> SiteOrder:
    """Central's order for this site. Nothing is parsed before its signature verified.

    What is not that is not set aside as a bad order is, for it says nothing about those after
    it: whoever sent it is given up, and the cursor stays.
    """
    try:
        payload = identity.verify(member.order_key, Signed.FromString(body))
    except (identity.SignatureRejected, DecodeError):
        raise ProtocolViolated(
            "an order is not signed with the key that central had when this site joined"
        ) from None
    order = SiteOrder.FromString(payload)
    if order.site_id != member.id:
        raise ProtocolViolated(f"an order is for site {order.site_id[:64]!r}, not for this one")
    return order


async def describe(tx: Tx, join_address: str) -> None:
    described = SiteDescribed(join_address=join_address, version=VERSION)
    reports.send(tx, SiteReport(site=described))


def loop(
    database: Database,
    wakeups: Wakeups,
    url: str,
    executor: str,
    member: Member,
    kinds: Mapping[str, Decode],
) -> Loop:
    """Ensures that one process of the site keeps a link to central, for ever."""

    async def dial() -> None:
        with Outbox(database, wakeups, reports.FEED) as outbox:
            inbox = Inbox(database, SOURCE, partial(handle, member, kinds))
            await member.dial(outbox, inbox, _log)

    return Loop(
        "uplink",
        "Keeps the link to central: orders down, reports up.",
        loops.steady(dial),
        Alone(url, LOCK, session=_name(executor)),
    )


async def take_from(url: str, executor: str) -> None:
    """End the session by which an executor holds the uplink, or waits for it."""
    connection = await sessions.connect(url, command_timeout=sessions.ANSWER_S_MAX)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
            leadership.session_name(_name(executor)),
        )
    finally:
        connection.terminate()


def _name(executor: str) -> str:
    return f"uplink {executor}"


def _log(up: bool, why: str) -> None:
    if up:
        logger.info("central connected")
    else:
        logger.warning("central away", why=why)
