"""What is issued: an access token, perhaps a refresh token, and the session they belong to."""

import secrets
from typing import Final

from penstock.central.realms import tokens
from penstock.central.realms.grants.evidence import Decision, Evidence
from penstock.central.realms.model import ACCESS_TOKEN_LIFE
from penstock.central.realms.sessions.model import CLIENT_LIFE, Session
from penstock_contracts.ids import SessionId

REFRESH_PREFIX: Final = "pr_"


def issue(
    evidence: Evidence, decision: Decision, scope: str, *, refresh: bool
) -> dict[str, object]:
    """The answer of the token endpoint, without an id token."""
    client, signer = evidence.client, evidence.signer
    assert client is not None  # noqa: S101 authlib authenticated it
    assert signer is not None  # noqa: S101 the token endpoint always has one
    user = evidence.user
    if user is not None:
        _settle_session(evidence, decision, client.id, scope)
    claims = tokens.access_claims(
        issuer=evidence.realm.issuer,
        audience=evidence.audience,
        subject=user.id if user is not None else client.id,
        tenant=evidence.realm.tenant_id,
        client=client.id,
        scope=scope,
        session=decision.session_id,
        jti=secrets.token_urlsafe(16),
        now=evidence.now,
    )
    answer: dict[str, object] = {
        "token_type": "Bearer",
        "access_token": signer.sign(tokens.ACCESS, claims),
        "expires_in": int(ACCESS_TOKEN_LIFE.total_seconds()),
        "scope": scope,
    }
    if refresh and user is not None:
        decision.refresh_token = f"{REFRESH_PREFIX}{secrets.token_urlsafe(32)}"
        answer["refresh_token"] = decision.refresh_token
    return answer


def _settle_session(evidence: Evidence, decision: Decision, client_id: str, scope: str) -> None:
    """Refreshing goes on with a session; every other grant begins one."""
    if evidence.refresh is not None:
        decision.session_id = evidence.refresh.session_id
        return
    began = evidence.code or evidence.device
    user = evidence.user
    assert began is not None  # noqa: S101 nothing else leads here
    assert user is not None  # noqa: S101 our caller looked
    decision.session_id = SessionId.new()
    decision.session = Session(
        id=decision.session_id,
        tenant_id=evidence.realm.tenant_id,
        user_id=user.id,
        client_id=client_id,
        # A device was let in for itself; it stays when the browser leaves.
        parent_id=evidence.code.browser_id if evidence.code is not None else None,
        scope=scope,
        amr=began.amr,
        agent=evidence.device.agent if evidence.device is not None else "",
        auth_at=began.auth_at or evidence.now,
        created_at=evidence.now,
        seen_at=evidence.now,
        expires_at=evidence.now + CLIENT_LIFE,
    )
