"""The authorization endpoint: may this client have a code for the one who is logged in?"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.central.realms.clients import service as clients
from penstock.central.realms.clients.model import Client
from penstock.central.realms.grants import flows, requests, store
from penstock.central.realms.grants.evidence import Evidence
from penstock.central.realms.grants.hints import UNREADABLE
from penstock.central.realms.grants.requests import Objection
from penstock.central.realms.grants.server import Server
from penstock.central.realms.model import Realm
from penstock.central.realms.parameters import Asked
from penstock.central.realms.replies import Reply
from penstock.central.realms.sessions.model import Session
from penstock.central.realms.users.model import User
from penstock.kernel.db import Tx

# Whoever signs in again can choose as whom.
AGAIN = frozenset({"login", "select_account"})


@dataclass(frozen=True)
class Refusal:
    """To be told to the client (it has a location), or, when that is not safe, to the person."""

    reply: Reply


@dataclass(frozen=True)
class LoginNeeded:
    """Nobody is logged in, or not as freshly as the client asks."""


@dataclass(frozen=True)
class ConsentNeeded:
    client: Client
    scopes: Sequence[str]


@dataclass(frozen=True)
class Granted:
    location: str = field(repr=False)


Verdict = Refusal | LoginNeeded | ConsentNeeded | Granted


async def judge(
    tx: Tx,
    realm: Realm,
    asked: Asked,
    known: tuple[Session, User] | None,
    *,
    meant: str | None = None,
    consents: bool | None = None,
    logged_in_for_this: bool = False,
) -> Verdict:
    """What is to happen next. `consents` is the person's answer, once they were asked; `meant`
    is whom the client says it wants, if it does."""
    client = await clients.find(tx, realm.tenant_id, asked.client_id)
    session, user = known or (None, None)
    evidence = Evidence(realm, "", tx.now, client, session=session, user=user)
    server = flows.server_for(evidence)
    if (wrong := _objection(client, asked, meant)) is not None:
        return Refusal(server.refuse(asked, wrong.error, wrong.description))
    considered = server.consider(asked, user)
    if isinstance(considered, Reply):
        return Refusal(considered)
    prompts = frozenset(asked.get("prompt").split())
    if client is None or user is None or session is None:
        return _or_refused(server, asked, prompts, "login_required", LoginNeeded())
    another = meant is not None and meant != user.id
    if another and logged_in_for_this:
        return Refusal(server.refuse(asked, "login_required", "Someone else is signed in."))
    again = not prompts.isdisjoint(AGAIN) or another or _stale(asked, session, tx)
    if again and not logged_in_for_this:
        return _or_refused(server, asked, prompts, "login_required", LoginNeeded())
    if consents is None:
        scopes = client.limit(asked.get("scope")).split()
        if await _must_ask(tx, realm, client, user, scopes, prompts):
            needed = ConsentNeeded(client, scopes)
            return _or_refused(server, asked, prompts, "consent_required", needed)
    granted_by = user if consents is not False else None
    reply = server.settle(considered, granted_by)
    return await _write(tx, realm, server, reply, remember=consents is True and not client.public)


async def _write(tx: Tx, realm: Realm, server: Server, reply: Reply, *, remember: bool) -> Verdict:
    code = server.decision.code
    if code is None or reply.location is None:
        return Refusal(reply)
    await store.add_code(tx, realm.tenant_id, server.decision.code_secret, code)
    if remember:
        await store.consent(tx, realm.tenant_id, code.user_id, code.client_id, code.scope.split())
    return Granted(reply.location)


async def _must_ask(
    tx: Tx, realm: Realm, client: Client, user: User, scopes: Sequence[str], prompts: frozenset[str]
) -> bool:
    """A public client is asked for every time: any program can say that it is that one."""
    if client.trusted and "consent" not in prompts:
        return False
    if client.public or "consent" in prompts:
        return True
    given = await store.consented(tx, realm.tenant_id, user.id, client.id)
    return not set(scopes) <= set(given)


def _or_refused(
    server: Server, asked: Asked, prompts: frozenset[str], error: str, otherwise: Verdict
) -> Verdict:
    """With prompt=none nobody may be bothered: the client is told what would be needed."""
    if "none" not in prompts:
        return otherwise
    return Refusal(server.refuse(asked, error))


def _objection(client: Client | None, asked: Asked, meant: str | None) -> Objection | None:
    """Only what can be told to the client: whether the address is its own comes first."""
    if client is None or not client.redirects_to(asked.get("redirect_uri")):
        return None  # the person is told, by `consider`
    if meant == UNREADABLE:
        return Objection("invalid_request", "The 'id_token_hint' cannot be verified: leave it out.")
    return requests.objection(asked)


def _stale(asked: Asked, session: Session, tx: Tx) -> bool:
    max_age = asked.get("max_age")
    return bool(max_age) and (tx.now - session.auth_at).total_seconds() > int(max_age)
