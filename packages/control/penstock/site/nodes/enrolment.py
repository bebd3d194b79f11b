"""How a node joins this site: a token once, its enrolled key ever after."""

from dataclasses import dataclass
from typing import Final

from penstock.kernel import authority, db
from penstock.kernel.authority import Authority
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Forbidden, Invalid
from penstock.site import reports
from penstock.site.nodes import reenrolment, store
from penstock.site.nodes.model import Node, Token
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
    whom = Token(token.name, token.rejoins)
    await store.add_token(tx, token.token_id, token.secret_sha256, expires_at, whom)


async def enrol(tx: Tx, ca: Authority, door: Door, request: EnrolRequest) -> Enrolment:
    public_key = authority.enrolled_key(request.csr)
    if not 1 <= len(request.name) <= NAME_LENGTH_MAX or not request.name.isprintable():
        raise Invalid(f"a node's name has 1 to {NAME_LENGTH_MAX} printable characters")
    hashed = join.hash_secret(request.secret)
    token = await store.use_token(tx, request.token_id, hashed, public_key)
    if token is None:
        raise Forbidden("the join token is unknown, used or expired; ask for a new one")
    node = await store.by_key(tx, public_key)
    refuse_retired(node)
    if token.rejoins:
        node = await reenrolment.node_of(tx, token.rejoins, node)
        if node.public_key != public_key:
            return await reenrolment.ask(tx, node, public_key, request)
    if node is None:
        _refuse_other_name(token, request.name)
        node = Node(NodeId.new(), request.name, public_key)
        if not await store.add(tx, node):
            raise Conflict(f"there is a node named {request.name!r} already; choose another name")
        enrolled = NodeEnrolled(
            node_id=node.id, name=node.name, public_key=public_key, token_id=request.token_id
        )
        reports.send(tx, SiteReport(enrolled=enrolled))
    return _issue(ca, door, node, request.csr)


async def renew(tx: Tx, ca: Authority, door: Door, request: RenewRequest) -> Enrolment:
    """The request is signed by the enrolled key: that is the proof, whatever expired."""
    node = await store.by_key(tx, authority.enrolled_key(request.csr))
    if node is None:
        raise Forbidden("this key is not enrolled")
    refuse_retired(node)
    return _issue(ca, door, node, request.csr)


def refuse_retired(node: Node | None) -> None:
    if node is not None and node.retired:
        raise Forbidden(
            f"node {node.id} is retired, and its key opens nothing; "
            "delete its folder and join as a new node, with a new token"
        )


def _refuse_other_name(token: Token, name: str) -> None:
    if token.name and token.name != name:
        raise Forbidden(f"this token is for a node named {token.name!r}, not {name!r}")


def _issue(ca: Authority, door: Door, node: Node, csr: bytes) -> Enrolment:
    leaf = ca.issue(csr, identity.spiffe("node", node.id))
    return Enrolment(
        id=node.id,
        certificate_pem=authority.to_pem(leaf) + ca.pem,
        link_address=door.link_address,
        order_key=door.order_key,
    )
