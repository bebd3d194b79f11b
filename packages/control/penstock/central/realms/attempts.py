"""Those who could not prove who they are, for the audit log of their realm's tenant.

What they gave is never told: a password is easily typed where an address belongs.
"""

from fastapi import Request

from penstock.central.realms.model import Realm
from penstock.central.realms.replies import Reply
from penstock.kernel.denials import Denials

UNKNOWN = "unknown"


def login_failed(request: Request, user: str | None, reason: str) -> None:
    """`user`: whose account it was, if there is one."""
    _note(request, "login.failed", user, reason, user=user)


def note_refused(request: Request, reply: Reply) -> Reply:
    """A client that is not known, or not with this secret."""
    if reply.error == "invalid_client":
        why = "the client is not known here, or did not prove to be itself"
        _note(request, "client.refused", reply.client, why, client=reply.client)
    return reply


def _note(
    request: Request, action: str, subject: str | None, reason: str, **detail: object
) -> None:
    realm: Realm = request.state.realm
    denials: Denials = request.app.state.denials
    denials.note_failure(
        action, address=request.state.visitor.address, subject=subject or UNKNOWN, reason=reason,
        correlation=request.state.correlation_id, tenant_id=realm.tenant_id, realm=realm.name,
        **detail,
    )  # fmt: skip
