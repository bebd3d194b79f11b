"""The tokens of a realm: what they say, and whether one can be believed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, cast

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from penstock.central.realms.model import ACCESS_TOKEN_LIFE, ALGORITHM

ACCESS: Final = "at+jwt"  # RFC 9068: so that no other token passes for one
ID: Final = "JWT"
LENGTH_MAX: Final = 4_096
SKEW_S: Final = 5


class NotBelieved(Exception):
    """This is not a good access token, for whatever reason: callers are not told which."""


@dataclass(frozen=True)
class Claimed:
    """What a token says about itself, before anything of it was checked."""

    issuer: str
    kid: str
    subject: str
    session: str
    client: str
    jti: str


def access_claims(
    *,
    issuer: str,
    audience: str,
    subject: str,
    tenant: str,
    client: str,
    scope: str,
    session: str | None,
    jti: str,
    now: datetime,
) -> dict[str, object]:
    issued = int(now.timestamp())
    claims: dict[str, object] = {
        "iss": issuer,
        "aud": audience,
        "sub": subject,
        "tenant": tenant,
        "client_id": client,
        "scope": scope,
        "jti": jti,
        "iat": issued,
        "nbf": issued,
        "exp": issued + int(ACCESS_TOKEN_LIFE.total_seconds()),
    }
    return claims if session is None else {**claims, "sid": session}


def open_up(token: str) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The header and the claims, of which nothing was checked. Raises NotBelieved."""
    if len(token) > LENGTH_MAX or not token.isascii() or token.count(".") != 2:
        raise NotBelieved
    try:
        compact = jws.extract_compact(token.encode())
        claims: object = json.loads(compact.payload or b"")
        header: Mapping[str, object] = compact.headers()
    except (JoseError, ValueError, RecursionError):
        raise NotBelieved from None
    if not isinstance(claims, dict):
        raise NotBelieved
    return header, cast("Mapping[str, object]", claims)


def issuer_of(token: str) -> str:
    """Whom the token says it is from."""
    return text(open_up(token)[1].get("iss"))


def peek(token: str) -> Claimed:
    """Where to look for the key and the facts that the token must agree with."""
    header, said = open_up(token)
    return Claimed(
        issuer=text(said.get("iss")),
        kid=text(header.get("kid")),
        subject=text(said.get("sub")),
        session=text(said.get("sid", "")),
        client=text(said.get("client_id")),
        jti=text(said.get("jti")),
    )


def verify(
    token: str,
    public: Mapping[str, str],
    *,
    issuer: str,
    audience: str,
    tenant: str,
    now: datetime,
) -> Mapping[str, object]:
    """The claims of an access token that this key of this realm signed for this audience."""
    try:
        decoded = jwt.decode(token, _imported(json.dumps(dict(public))), algorithms=[ALGORITHM])
    except (JoseError, ValueError, RecursionError):
        raise NotBelieved from None
    header: Mapping[str, object] = decoded.header
    claims: Mapping[str, object] = decoded.claims
    # What is in the header decides nothing: no key comes from it, no address is fetched.
    if set(header) != {"alg", "kid", "typ"} or header["typ"] != ACCESS:
        raise NotBelieved
    expected = {"iss": issuer, "aud": audience, "tenant": tenant}
    if any(claims.get(name) != value for name, value in expected.items()):
        raise NotBelieved
    at = int(now.timestamp())
    if number(claims.get("exp")) <= at or number(claims.get("nbf")) > at + SKEW_S:
        raise NotBelieved
    return claims


def expiry(claims: Mapping[str, object]) -> datetime:
    return datetime.fromtimestamp(number(claims.get("exp")), UTC)


@lru_cache(maxsize=1024)
def _imported(public: str) -> ECKey:
    return ECKey.import_key(json.loads(public))


def text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 500 or "\x00" in value:
        raise NotBelieved
    return value


def number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotBelieved
    return value
