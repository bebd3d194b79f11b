"""Access tokens of hosted realms: what one says, and whether its issuer's key signed that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, cast

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from penstock.central.realms import tokens
from penstock.central.realms.tokens import ACCESS, SKEW_S, NotBelieved

KINDS: Final = {"ES256": "EC", "RS256": "RSA", "PS256": "RSA"}  # never symmetric, never none
LIFE_S_MAX: Final = 3_600
KEY_BITS_MIN: Final = 2_048
SECOND_FACTORS: Final = frozenset({"mfa", "otp"})  # in `amr`, if the issuer says it (RFC 8176)


@dataclass(frozen=True)
class Said:
    """What a token says about itself, before anything of it was checked."""

    issuer: str
    subject: str
    kid: str
    algorithm: str


@dataclass(frozen=True)
class Person:
    """Whom a good token is about."""

    subject: str
    email: str | None  # only if the issuer says that it is verified
    name: str
    scope: str
    second_factor: bool


def read(token: str) -> Said:
    header, claims = tokens.open_up(token)
    said = Said(
        issuer=tokens.text(claims.get("iss")),
        subject=tokens.text(claims.get("sub")),
        kid=tokens.text(header.get("kid")),
        algorithm=tokens.text(header.get("alg")),
    )
    if not said.subject or said.algorithm not in KINDS:
        raise NotBelieved
    return said


def verify(
    token: str, said: Said, public: Mapping[str, str], *, audience: str, now: datetime
) -> Person:
    """The person of an access token that this key of this issuer signed for this audience."""
    key = _imported(json.dumps(dict(public), sort_keys=True), said.algorithm)
    try:
        decoded = jwt.decode(token, key, algorithms=[said.algorithm])
    except (JoseError, ValueError, RecursionError):
        raise NotBelieved from None
    header: Mapping[str, object] = decoded.header
    claims: Mapping[str, object] = decoded.claims
    # What is in the header decides nothing: no key comes from it, no address is fetched.
    if set(header) != {"alg", "kid", "typ"} or header["typ"] != ACCESS:
        raise NotBelieved
    if claims.get("typ", "Bearer") != "Bearer" or claims.get("iss") != said.issuer:
        raise NotBelieved
    if audience not in _several(claims.get("aud")):
        raise NotBelieved
    _refuse_untimely(claims, int(now.timestamp()))
    return _person(claims)


def _refuse_untimely(claims: Mapping[str, object], at: int) -> None:
    until, since = tokens.number(claims.get("exp")), tokens.number(claims.get("iat"))
    if until <= at or since > at + SKEW_S or until - since > LIFE_S_MAX:
        raise NotBelieved
    if tokens.number(claims.get("nbf", since)) > at + SKEW_S:
        raise NotBelieved


def _several(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _person(claims: Mapping[str, object]) -> Person:
    email, name = claims.get("email"), claims.get("name")
    known = isinstance(email, str) and claims.get("email_verified") is True
    named = name if isinstance(name, str) and name.isprintable() and name else email
    return Person(
        subject=tokens.text(claims.get("sub")),
        email=email if isinstance(email, str) and known else None,
        name=str(named or "")[:100],
        scope=tokens.text(claims.get("scope", "")),
        second_factor=not SECOND_FACTORS.isdisjoint(map(str, _several(claims.get("amr", [])))),
    )


@lru_cache(maxsize=1024)
def _imported(public: str, algorithm: str) -> ECKey | RSAKey:
    """A key signs with what it was published for, and with nothing else."""
    said: dict[str, str] = json.loads(public)
    if said.get("kty") != KINDS[algorithm] or said.get("alg", algorithm) != algorithm:
        raise NotBelieved
    kept: dict[str, str | list[str]] = {
        name: said[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in said
    }
    try:
        if algorithm == "ES256":
            return ECKey.import_key(kept)
        key = RSAKey.import_key(kept)
    except (JoseError, ValueError, KeyError, TypeError):
        raise NotBelieved from None
    if key.public_key.key_size < KEY_BITS_MIN:
        raise NotBelieved
    return key
