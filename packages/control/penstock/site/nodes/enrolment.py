"""How a node joins this site: a token once, its enrolled key ever after."""

from dataclasses import dataclass
from typing import Final

from penstock.kernel import authority, db
from penstock.kernel.authority import Authority
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Forbidden, Invalid
from penstock.site import reports
from penstock.site.nodes import store
from penstock.site.nodes.model import Node
from penstock_contracts import identity, join
from penstock_contracts.ids import NodeId
from penstock_contracts.wire_pb2 import (
    Enrolment,
    EnrolRequest,
    NodeEnrolled,
    NodeToken,
    RenewRequest,
    SiteReport,
)

NAME_LENGTH_MAX: Final = 63


@dataclass(frozen=True)
class Door:
    """What a node is given besides its certificate."""

    link_address: str
    order_key: bytes  # signs the tasks


async def permit(tx: Tx, token: NodeToken) -> None:
    """Central's permission for one node to join."""
    expires_at = db.from_us(token.expires_at_us)
    await store.add_token(tx, token.token_id, token.secret_sha256, expires_at)


async def enrol(tx: Tx, ca: Authority, door: Door, request: EnrolRequest) -> Enrolment:
    public_key = authority.enrolled_key(request.csr)
    if not 1 <= len(request.name) <= NAME_LENGTH_MAX or not request.name.isprintable():
        raise Invalid(f"a node's name has 1 to {NAME_LENGTH_MAX} printable characters")
    hashed = join.hash_secret(request.secret)
    if not await store.use_token(tx, request.token_id, hashed, public_key):
        raise Forbidden("the join token is unknown, used or expired; ask for a new one")
    node = await store.by_key(tx, public_key)
    if node is None:
        node = Node(NodeId.new(), request.name, public_key)
        if not await store.add(tx, node):
            raise Conflict(f"there is a node named {request.name!r} already; choose another name")
        enrolled = NodeEnrolled(node_id=node.id, name=node.name, public_key=public_key)
        reports.send(tx, SiteReport(enrolled=enrolled))
    return _issue(ca, door, node, request.csr)


async def renew(tx: Tx, ca: Authority, door: Door, request: RenewRequest) -> Enrolment:
    """The request is signed by the enrolled key: that is the proof, whatever expired."""
    node = await store.by_key(tx, authority.enrolled_key(request.csr))
    if node is None:
        raise Forbidden("this key is not enrolled")
    return _issue(ca, door, node, request.csr)


def _issue(ca: Authority, door: Door, node: Node, csr: bytes) -> Enrolment:
    leaf = ca.issue(csr, identity.spiffe("node", node.id))
    return Enrolment(
        id=node.id,
        certificate_pem=authority.to_pem(leaf) + ca.pem,
        link_address=door.link_address,
        order_key=door.order_key,
    )
