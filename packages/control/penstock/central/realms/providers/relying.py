"""Being a client of another issuer: discovery, code with PKCE, an id token that is checked."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast
from urllib.parse import urlencode

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry

from penstock.central.realms.providers.model import Person, Provider
from penstock_contracts import web_addresses

ALGORITHMS: Final = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]  # never symmetric, never none
TIMEOUT_S: Final = 10.0
ANSWER_BYTES_MAX: Final = 256 * 1024
SKEW_S: Final = 30


class ProviderFailed(Exception):
    """The other issuer did not vouch for anyone; the message says why, for the log."""


@dataclass(frozen=True)
class Trip:
    """What has to be remembered while someone is at the other issuer."""

    nonce: str
    verifier: str = field(repr=False)

    @classmethod
    def new(cls) -> "Trip":
        return cls(secrets.token_urlsafe(24), secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


async def departure(provider: Provider, trip: Trip, state: str, back: str) -> str:
    """Where to send someone so that the issuer sends them back."""
    async with _client() as client:
        metadata = await _discover(client, provider)
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": back,
        "scope": "openid email profile",
        "state": state,
        "nonce": trip.nonce,
        "code_challenge": trip.challenge,
        "code_challenge_method": "S256",
    }
    endpoint = _address(metadata, "authorization_endpoint")
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


async def arrival(provider: Provider, secret: str, trip: Trip, code: str, back: str) -> Person:
    """Whom the issuer sent back with this code."""
    async with _client() as client:
        metadata = await _discover(client, provider)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": trip.verifier,
        }
        answer = await _ask(
            client, "POST", _address(metadata, "token_endpoint"), form, (provider.client_id, secret)
        )
        keys = await _ask(client, "GET", _address(metadata, "jwks_uri"))
        claims = _verified(provider, trip, _text(answer, "id_token"), keys)
        if "email" not in claims:
            claims = await _told(client, metadata, answer, claims)
    return _person(claims)


async def _told(
    client: httpx2.AsyncClient,
    metadata: Mapping[str, object],
    answer: Mapping[str, object],
    claims: Mapping[str, object],
) -> Mapping[str, object]:
    """What the issuer tells of the same person besides the id token."""
    token = {"Authorization": f"Bearer {_text(answer, 'access_token')}"}
    told = await _ask(client, "GET", _address(metadata, "userinfo_endpoint"), headers=token)
    if told.get("sub") != claims["sub"]:
        raise ProviderFailed("the issuer's userinfo is about someone else")
    return {**told, **claims}


def _person(claims: Mapping[str, object]) -> Person:
    email, name = claims.get("email"), claims.get("name")
    verified = isinstance(email, str) and claims.get("email_verified") is True
    named = name if isinstance(name, str) and name.isprintable() and name else email
    return Person(
        subject=_text(claims, "sub"),
        email=email if isinstance(email, str) and verified else None,
        name=str(named)[:100],
    )


def _verified(
    provider: Provider, trip: Trip, token: str, keys: Mapping[str, object]
) -> Mapping[str, object]:
    registry = JWTClaimsRegistry(
        now=int(time.time()),
        leeway=SKEW_S,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        nonce={"essential": True, "value": trip.nonce},
        exp={"essential": True},
        sub={"essential": True},
    )
    try:
        keyset = KeySet.import_key_set(cast("dict[str, list[dict[str, str]]]", dict(keys)))  # pyright: ignore[reportArgumentType] its own TypedDict is not public
        decoded = jwt.decode(token, keyset, algorithms=ALGORITHMS)
        registry.validate(decoded.claims)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise ProviderFailed(f"the id token of {provider.issuer} is not good: {error}") from None
    return decoded.claims


async def _discover(client: httpx2.AsyncClient, provider: Provider) -> Mapping[str, object]:
    url = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
    metadata = await _ask(client, "GET", url)
    if metadata.get("issuer") != provider.issuer:
        raise ProviderFailed(f"{url} is the configuration of {metadata.get('issuer')!r}")
    return metadata


async def _ask(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    form: Mapping[str, str] | None = None,
    login: tuple[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, object]:
    try:
        # Streamed, so that an answer without end is given up at its limit.
        async with client.stream(method, url, data=form, auth=login, headers=headers) as response:
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES_MAX:
                    raise ProviderFailed(f"the answer of {url} is too large")
        content: object = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise ProviderFailed(f"{url} did not answer as it should: {error}") from None
    if response.status_code != 200 or not isinstance(content, dict):
        raise ProviderFailed(f"{url} answered {response.status_code}: {str(content)[:200]}")
    return cast("Mapping[str, object]", content)


def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False)


def _text(content: Mapping[str, object], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise ProviderFailed(f"the issuer's answer has no {name}")
    return value


def _address(metadata: Mapping[str, object], name: str) -> str:
    """Where secrets go and people are sent: what the issuer says is not taken on trust."""
    text = _text(metadata, name)
    address = web_addresses.parse(text)
    if address is None or not address.is_private:
        raise ProviderFailed(f"the issuer's {name} is not an https address: {text[:200]!r}")
    return text
