"""How a site joins: a token once, its enrolled key ever after."""

from penstock.central.sites import roots, store
from penstock.central.sites.model import server_name
from penstock.kernel import audit, authority, events
from penstock.kernel.actor import SYSTEM
from penstock.kernel.authority import Authority
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, Invalid
from penstock_contracts import identity, join
from penstock_contracts.ids import SiteId
from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, RenewRequest

SERVER_NAME = "central.penstock.internal"


async def enrol(tx: Tx, root: Authority, link_address: str, request: EnrolRequest) -> Enrolment:
    public_key = authority.enrolled_key(request.csr)
    if not request.ca_csr:
        raise Invalid("a site must ask for its own certificate authority too")
    ca_key = authority.enrolled_key(request.ca_csr)
    hashed = join.hash_secret(request.secret)
    site_id = await store.use_token(tx, request.token_id, hashed, public_key)
    if site_id is None:
        raise Forbidden("the join token is unknown, used or expired; ask for a new one")
    was = (await store.get(tx, site_id)).public_key
    await store.set_keys(tx, site_id, public_key, ca_key)
    audit.record(
        tx, SYSTEM, "site.enrol", site_id, token=request.token_id,
        key=identity.fingerprint(public_key),
        before={"key": identity.fingerprint(was) if was else None},
    )  # fmt: skip
    events.emit(tx, "site.enrolled", site_id)
    return _issue(root, site_id, link_address, request.csr, request.ca_csr)


async def renew(tx: Tx, root: Authority, link_address: str, request: RenewRequest) -> Enrolment:
    """The request is signed by the enrolled key: that is the proof, whatever expired."""
    site = await store.by_key(tx, authority.enrolled_key(request.csr))
    if site is None:
        raise Forbidden("this key is not enrolled")
    # The request proves the site's key, not that the other request came with it.
    if authority.enrolled_key(request.ca_csr) != site.ca_public_key:
        raise Forbidden("this is not the authority that the site joined with; it must join anew")
    return _issue(root, site.id, link_address, request.csr, request.ca_csr)


def _issue(root: Authority, id: SiteId, link_address: str, csr: bytes, ca_csr: bytes) -> Enrolment:
    uri = identity.spiffe("site", id)
    above = roots.above(root, id, authority.enrolled_key(ca_csr))
    ca = above.issue_authority(ca_csr, f"CA of {id}", dns=server_name(id))
    return Enrolment(
        id=id,
        certificate_pem=authority.to_pem(root.issue(csr, uri)),
        ca_certificate_pem=authority.to_pem(ca),
        ca_root_pem=above.pem,
        link_address=link_address,
        order_key=roots.order_key(root).public(),
    )
