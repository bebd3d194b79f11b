"""Personal API keys: made by a user, for that user's own scripts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from penstock.central.access import keys
from penstock.central.access.authorization import Resource, authorize
from penstock.central.access.keys import NewKey
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import service as users
from penstock.central.tenants import service as tenants
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden, Unauthenticated
from penstock_contracts.ids import UserId

LIFE_MAX: Final = timedelta(days=365)
ORDER: Final = ("read", "use", "administer")


async def create(
    tx: Tx, actor: Actor, *, name: str, scopes: Sequence[str], days: int
) -> tuple[NewKey, datetime]:
    """A key for oneself: no more than one may do, no more than one's own token may.

    A token makes keys only if whoever let its client in let it do that: a key outlives the session.
    """
    if actor.kind != "user" or actor.tenant_id is None:
        raise Forbidden("a personal key belongs to a user; sign in with `penstock login` first")
    own = await tenants.with_status(tx, Resource("key", None, actor.tenant_id))
    authorize(actor, "key.create_own", own)
    held = (scope for scope in actor.scopes or () if scope in ORDER)
    widest = max((ORDER.index(scope) for scope in held), default=-1)
    if any(ORDER.index(scope) > widest for scope in scopes):
        raise Forbidden("a key cannot do more than the token with which it is made")
    owner, expires_at = UserId(actor.user_id), tx.now + timedelta(days=days)
    # Whoever shuts them out or ends their keys waits for this, or was before and is seen now.
    inside = await users.hold(tx, owner)
    if not inside or (actor.session_id and not await sessions.lives(tx, actor.session_id)):
        raise Unauthenticated("your session ended; sign in again", suggestion="`penstock login`")
    made = await keys.create(
        tx, actor, tenant_id=actor.tenant_id, name=name, role=actor.role, user_id=owner,
        scopes=scopes, expires_at=expires_at, client_id=actor.client_id or None,
    )  # fmt: skip
    return made, expires_at
