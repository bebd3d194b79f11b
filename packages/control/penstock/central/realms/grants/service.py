"""The protocol's verbs: load what they need, let authlib judge, write what it decided."""

from typing import Final

from penstock.central.realms.bearer import Bearer
from penstock.central.realms.clients import service as clients
from penstock.central.realms.grants import evidence as evidences
from penstock.central.realms.grants import flows, requests, store
from penstock.central.realms.grants.endpoints import (
    DeviceAuthorization,
    Introspection,
    Revocation,
)
from penstock.central.realms.grants.evidence import Decision, Evidence
from penstock.central.realms.grants.generator import REFRESH_PREFIX
from penstock.central.realms.grants.known import Presented
from penstock.central.realms.grants.model import SLOWER_BY_S
from penstock.central.realms.grants.server import Server
from penstock.central.realms.keys.service import Signer
from penstock.central.realms.model import Realm
from penstock.central.realms.parameters import Asked
from penstock.central.realms.replies import Reply
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.sessions.model import REFRESH_LIFE
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx

PENDING: Final = frozenset({"authorization_pending", "slow_down"})


async def exchange(tx: Tx, realm: Realm, audience: str, signer: Signer, asked: Asked) -> Reply:
    """The token endpoint. A refusal may change something too, so it is no exception."""
    evidence = await evidences.for_token(tx, realm, audience, signer, asked)
    server = flows.server_for(evidence)
    reply = server.tokens(asked)
    if server.decision.replayed:
        await _end_replayed(tx, evidence)
    if reply.status == 200:
        await _write(tx, evidence, server.decision, asked)
    elif evidence.device is not None and reply.error in PENDING:
        slower = SLOWER_BY_S if reply.error == "slow_down" else 0
        await store.poll_device(tx, evidence.device, evidence.device.interval_s + slower)
    return reply


async def _end_replayed(tx: Tx, evidence: Evidence) -> None:
    """A code or refresh token that its client brings again was stolen: all that came of it ends."""
    used = evidence.code or evidence.refresh
    assert used is not None  # noqa: S101 one of them came again
    assert evidence.client is not None  # noqa: S101 authlib authenticated it
    session = None if used.session_id is None else await sessions.lock(tx, used.session_id)
    if session is not None:
        actor = Actor("client", evidence.client.id, "client", evidence.realm.tenant_id)
        await sessions.end(tx, actor, session, "a code or refresh token was used twice")


async def _write(tx: Tx, evidence: Evidence, decision: Decision, asked: Asked) -> None:
    realm, session = evidence.realm, decision.session
    if session is not None:
        await sessions.add(tx, session)
        actor = Actor("user", session.user_id, "user", realm.tenant_id)
        audit.record(
            tx, actor, "session.start", session.id, client=session.client_id, scope=session.scope
        )
        events.emit(
            tx, "session.started", session.id, tenant_id=realm.tenant_id, user=session.user_id,
            client=session.client_id,
        )  # fmt: skip
        if evidence.code is not None:
            await store.spend_code(tx, asked.get("code"), session.id)
        if evidence.device is not None:
            await store.redeem_device(tx, evidence.device, session.id)
    if evidence.refresh is not None:
        await store.spend_refresh(tx, asked.get("refresh_token"))
        await sessions.touch(tx, evidence.refresh.session_id)
    if decision.refresh_token is not None and decision.session_id is not None:
        await store.add_refresh(
            tx, realm.tenant_id, decision.refresh_token, decision.session_id,
            evidence.now + REFRESH_LIFE,
        )  # fmt: skip


async def authorize_device(tx: Tx, realm: Realm, asked: Asked) -> Reply:
    """The start of the device flow."""
    if (wrong := requests.unsupported(asked)) is not None:
        return Reply(400, {"error": wrong.error, "error_description": wrong.description}, {})
    client = await clients.find(tx, realm.tenant_id, asked.client_id)
    server = Server(Evidence(realm, "", tx.now, client))
    reply = server.ask(DeviceAuthorization(server, asked.agent), asked)
    if server.decision.device is not None:
        await store.add_device(tx, realm.tenant_id, server.decision.device)
    return reply


async def revoke(tx: Tx, realm: Realm, asked: Asked, bearer: Bearer | None) -> Reply:
    """A client gives a token back. An access token dies alone, a refresh token with its session."""
    client = await clients.find(tx, realm.tenant_id, asked.client_id)
    server = Server(Evidence(realm, "", tx.now, client))
    endpoint = Revocation(server, await _presented(tx, realm, asked, bearer))
    reply = server.ask(endpoint, asked)
    revoked = endpoint.revoked
    if revoked is not None and revoked.jti is not None:
        await store.revoke(tx, realm.tenant_id, revoked.jti, revoked.expires_at)
    elif revoked is not None and revoked.session_id is not None:
        session = await sessions.lock(tx, revoked.session_id)
        if session is not None:
            actor = Actor("client", revoked.client_id, "client", realm.tenant_id)
            await sessions.end(tx, actor, session, "its client gave it back")
    return reply


async def introspect(tx: Tx, realm: Realm, asked: Asked, bearer: Bearer | None) -> Reply:
    client = await clients.find(tx, realm.tenant_id, asked.client_id)
    server = Server(Evidence(realm, "", tx.now, client))
    return server.ask(Introspection(server, await _presented(tx, realm, asked, bearer)), asked)


async def _presented(tx: Tx, realm: Realm, asked: Asked, bearer: Bearer | None) -> Presented | None:
    """The token that is asked about, if it is this realm's and still good."""
    if bearer is not None:
        if bearer.tenant_id != realm.tenant_id:
            return None
        return Presented(
            bearer.client_id, bearer.session_id, bearer.jti, bearer.expires_at, bearer.claims
        )
    if not asked.get("token").startswith(REFRESH_PREFIX):
        return None
    refresh = await store.lock_refresh(tx, realm.tenant_id, asked.get("token"))
    session = None if refresh is None else await sessions.lock(tx, refresh.session_id)
    if refresh is None or session is None or session.client_id is None:
        return None
    if refresh.used_at is not None or refresh.expires_at <= tx.now or not session.live(tx.now):
        return None
    claims: dict[str, object] = {
        "client_id": session.client_id,
        "sub": session.user_id,
        "scope": session.scope,
        "iss": realm.issuer,
        "exp": int(refresh.expires_at.timestamp()),
    }
    return Presented(session.client_id, session.id, None, refresh.expires_at, claims)
