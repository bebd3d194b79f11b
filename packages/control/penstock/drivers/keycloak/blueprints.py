"""What is made at Keycloak, in its own words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from penstock_contracts.drivers.realm import COMMAND_LINE, PORTAL, Wanted

Made = Mapping[str, object]
MARK: Final = "penstock.tenant"  # the realm's attribute that says whose it is
ACCESS_TOKEN_LIFE_S: Final = 300
API_SCOPES: Final = ("read", "use", "administer", "keys")
# `basic` has the subject, `email` the address and whether it is verified.
DEFAULT_SCOPES: Final = ("basic", "profile", "email")
ACTIONS: Final = ("VERIFY_EMAIL", "UPDATE_PASSWORD")


def realm(wanted: Wanted) -> Made:
    return {
        "realm": wanted.name,
        "enabled": True,
        "displayName": wanted.name,
        "attributes": {MARK: wanted.tenant},
        "sslRequired": "external",
        "registrationAllowed": False,
        "loginWithEmailAllowed": True,
        "duplicateEmailsAllowed": False,
        "resetPasswordAllowed": True,
        "verifyEmail": True,
        "bruteForceProtected": True,
        "accessTokenLifespan": ACCESS_TOKEN_LIFE_S,
        "revokeRefreshToken": True,
        "refreshTokenMaxReuse": 0,
    }


def scope(name: str) -> Made:
    """What a token may be used for at the API. It says nothing of the person."""
    return {
        "name": name,
        "protocol": "openid-connect",
        "attributes": {"include.in.token.scope": "true", "display.on.consent.screen": "true"},
    }


def clients(wanted: Wanted) -> Sequence[Made]:
    return _command_line(wanted), _portal(wanted)


def _command_line(wanted: Wanted) -> Made:
    """The device flow and nothing else. (Keycloak asks for PKCE in that flow too where a client
    must use it.) Any program can say that it is this one, so people are asked."""
    device = {"oauth2.device.authorization.grant.enabled": "true"}
    return {**_client(wanted, COMMAND_LINE, device), "consentRequired": True}


def _portal(wanted: Wanted) -> Made:
    made = _client(wanted, PORTAL, {"pkce.code.challenge.method": "S256"})
    return {**made, "standardFlowEnabled": True, "redirectUris": [wanted.portal]}


def _client(wanted: Wanted, id: str, attributes: Mapping[str, str]) -> Made:
    return {
        "clientId": id,
        "protocol": "openid-connect",
        "publicClient": True,
        "standardFlowEnabled": False,
        "implicitFlowEnabled": False,
        "directAccessGrantsEnabled": False,
        "serviceAccountsEnabled": False,
        "fullScopeAllowed": False,
        "consentRequired": False,
        "redirectUris": [],
        "webOrigins": [],
        "defaultClientScopes": list(DEFAULT_SCOPES),
        "optionalClientScopes": [*API_SCOPES, "offline_access"],
        "attributes": {"access.token.header.type.rfc9068": "true", **attributes},
        "protocolMappers": [_audience(wanted.audience)],
    }


def _audience(audience: str) -> Made:
    return {
        "name": "penstock-api",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {
            "included.custom.audience": audience,
            "access.token.claim": "true",
            "id.token.claim": "false",
        },
    }


def person(email: str) -> Made:
    """Whoever proves that the address is theirs chooses the password."""
    return {
        "username": email,
        "email": email,
        "emailVerified": False,
        "enabled": True,
        "requiredActions": list(ACTIONS),
    }
