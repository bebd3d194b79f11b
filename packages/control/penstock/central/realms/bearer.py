"""Access tokens at our own doors: signed by the realm that they name, and still good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, cast

from penstock.central.access import grants
from penstock.central.realms import store, tokens
from penstock.central.realms.keys.store import key
from penstock.central.realms.model import api_scopes
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import Claimed, NotBelieved
from penstock.kernel.actor import Actor, Grant
from penstock_contracts.ids import TenantId

SECOND_FACTOR: Final = "otp"  # how a session says that one was used (RFC 8176)


@dataclass(frozen=True)
class Bearer:
    """Who holds a token that was checked against everything we know."""

    tenant_id: TenantId
    subject: str
    is_user: bool
    role: str
    client_id: str
    session_id: str | None
    scope: str
    jti: str
    expires_at: datetime
    claims: Mapping[str, object] = field(repr=False)
    grants: frozenset[Grant]
    second_factor: bool
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor(
            "user" if self.is_user else "client",
            self.subject,
            self.role,
            self.tenant_id,
            api_scopes(self.scope),
            self.grants,
            self.second_factor,
            self.now.hour,
            self.now.isoweekday(),
            self.subject if self.is_user else "",
            self.client_id,
            self.session_id or "",
        )


async def believe(realms: Realms, token: str) -> Bearer:
    """The bearer of an access token of one of our realms. Raises NotBelieved.

    One statement reads the key, the user, the client and the session: what was revoked
    or disabled a moment ago is refused now, not when the token runs out.
    """
    said = tokens.peek(token)
    name = realms.name_in(said.issuer)
    if name is None:
        raise NotBelieved
    rows = await realms.database.fetch(
        store.FACTS, name, said.kid, said.client, said.session, said.subject, said.jti
    )
    if not rows:
        raise NotBelieved
    facts: Mapping[str, object] = dict(rows[0])
    now = realms.database.now(rows[0]["now"])
    signing = key(rows[0])
    if not signing.believed(now):
        raise NotBelieved
    claims = tokens.verify(
        token,
        signing.public,
        issuer=realms.issuer(name),
        audience=realms.public_url,
        tenant=str(facts["tenant_id"]),
        now=now,
    )
    return _bearer(said, facts, claims, now)


def _bearer(
    said: Claimed, facts: Mapping[str, object], claims: Mapping[str, object], now: datetime
) -> Bearer:
    is_user = bool(said.session)
    if facts["revoked"] or not facts["client_enabled"]:
        raise NotBelieved
    if is_user and not (
        facts["session_live"]
        and facts["user_enabled"]
        and facts["session_user"] == said.subject
        and facts["session_client"] == said.client
    ):
        raise NotBelieved
    if not is_user and said.subject != said.client:
        raise NotBelieved
    role = facts["user_role"] if is_user else facts["client_role"]
    if not isinstance(role, str):
        raise NotBelieved
    return Bearer(
        tenant_id=TenantId(str(facts["tenant_id"])),
        subject=said.subject,
        is_user=is_user,
        role=role,
        client_id=said.client,
        session_id=said.session or None,
        scope=str(claims.get("scope", "")),
        jti=said.jti,
        expires_at=tokens.expiry(claims),
        claims=claims,
        grants=grants.read(facts["grants"]),
        second_factor=is_user and SECOND_FACTOR in cast("Sequence[str]", facts["amr"] or ()),
        now=now,
    )
