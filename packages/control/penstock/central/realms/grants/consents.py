"""Clients that someone let in: which those are, and how one is shown out again."""

from penstock.central.access import endings
from penstock.central.access.authorization import Resource, authorize
from penstock.central.realms.grants import store
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx


async def given(tx: Tx, user: User) -> list[tuple[str, str]]:
    """The clients that may act for someone, or have what they were given: by id and name."""
    return await store.let_in(tx, user.tenant_id, user.id)


async def take_back(tx: Tx, actor: Actor, user: User, client_id: str) -> None:
    """The client has nothing of theirs any more, and asks before it gets something again."""
    known = dict(await given(tx, user))
    if client_id not in known:
        return
    for noun in ("session", "key"):
        authorize(actor, f"{noun}.revoke_own", Resource(noun, None, user.tenant_id))
    reason = "its owner took the consent back"
    await users.lock(tx, user.id)
    await sessions.end_of_user(tx, user.id, reason, client_id=client_id)
    await endings.of_user(tx, actor, user.id, reason, client_id=client_id)
    await store.consent(tx, user.tenant_id, user.id, client_id, [])
    audit.record(
        tx, actor, "consent.take_back", client_id, tenant_id=user.tenant_id, user=user.id,
        before={"client": known[client_id]},
    )  # fmt: skip
