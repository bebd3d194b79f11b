"""Id tokens, and what a client may know about someone."""

# authlib has no types of its own, and the stubs for it are of another version: what comes
# from it is checked where it leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportDeprecated=false

from authlib.oauth2.rfc6749 import OAuth2Request
from authlib.oidc.core.grants import OpenIDCode

from penstock.central.realms.grants.evidence import Evidence
from penstock.central.realms.grants.known import KnownClient
from penstock.central.realms.model import ALGORITHM, ID_TOKEN_LIFE
from penstock.central.realms.users.model import User


class IdToken(OpenIDCode):
    def __init__(self, evidence: Evidence) -> None:
        super().__init__()
        self.evidence = evidence

    def exists_nonce(self, nonce: str, request: OAuth2Request) -> bool:
        return False  # a code is good once, and PKCE binds it: a nonce adds nothing to remember

    def resolve_client_private_key(self, client: KnownClient) -> object:
        assert self.evidence.signer is not None  # noqa: S101 the token endpoint always has one
        return self.evidence.signer.key

    def get_client_algorithm(self, client: KnownClient) -> str:
        return ALGORITHM

    def get_encode_header(self, client: KnownClient) -> dict[str, str]:
        assert self.evidence.signer is not None  # noqa: S101 the token endpoint always has one
        return {"alg": ALGORITHM, "kid": self.evidence.signer.kid}

    def get_client_claims(self, client: KnownClient) -> dict[str, object]:
        now, began = int(self.evidence.now.timestamp()), self.evidence.code or self.evidence.device
        claims: dict[str, object] = {
            "iss": self.evidence.realm.issuer,
            "aud": client.client.id,
            "iat": now,
            "exp": now + int(ID_TOKEN_LIFE.total_seconds()),
        }
        if began is not None and began.auth_at is not None:
            claims["auth_time"] = int(began.auth_at.timestamp())
            claims["amr"] = list(began.amr)
        return claims

    def generate_user_info(self, user: User, scope: str) -> dict[str, object]:
        return user_info(user, scope)


def user_info(user: User, scope: str) -> dict[str, object]:
    """What a client may know about someone, by the scopes it was granted."""
    scopes = scope.split()
    claims: dict[str, object] = {"sub": user.id}
    if "profile" in scopes:
        claims["name"] = user.name
    if "email" in scopes:
        claims["email"] = user.email
    return claims
