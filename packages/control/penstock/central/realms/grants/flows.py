"""The four ways to get tokens, as authlib runs them."""

# authlib has no types of its own, and the stubs for it are of another version: what comes
# from it is checked where it leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportDeprecated=false

import hmac

from authlib.oauth2.rfc6749 import InvalidRequestError, InvalidScopeError, OAuth2Request, grants
from authlib.oauth2.rfc7636 import CodeChallenge, create_s256_code_challenge
from authlib.oauth2.rfc8628 import DeviceCodeGrant

from penstock.central.realms.clients.model import Client
from penstock.central.realms.grants import generator
from penstock.central.realms.grants.evidence import Evidence
from penstock.central.realms.grants.id_tokens import IdToken
from penstock.central.realms.grants.known import KnownClient, KnownCode, KnownDevice, KnownRefresh
from penstock.central.realms.grants.model import CODE_LIFE, Code
from penstock.central.realms.grants.server import Server
from penstock.central.realms.model import api_scopes
from penstock.central.realms.users.model import User

ANY_CLIENT = ["client_secret_basic", "client_secret_post", "none"]
CONFIDENTIAL = ["client_secret_basic", "client_secret_post"]


class Pkce(CodeChallenge):
    """For every client, and never `plain`."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]  # noqa: RUF012 authlib's own shape

    def validate_code_challenge(self, grant: grants.AuthorizationCodeGrant, redirect: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE is required: a 'code_challenge' made with S256")
        super().validate_code_challenge(grant, redirect)


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ANY_CLIENT
    server: Server

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        evidence, decision = self.server.evidence, self.server.decision
        session, user = evidence.session, evidence.user
        assert session is not None  # noqa: S101 authlib has a user, so there is a browser session
        assert user is not None  # noqa: S101 the same
        data = request.payload.data
        decision.code_secret = code
        decision.code = Code(
            client_id=request.client.client.id,
            user_id=user.id,
            browser_id=session.id,
            redirect_uri=data["redirect_uri"],
            scope=request.scope,
            nonce=data.get("nonce"),
            challenge=data["code_challenge"],
            amr=session.amr,
            auth_at=session.auth_at,
            expires_at=evidence.now + CODE_LIFE,
        )

    def query_authorization_code(self, code: str, client: KnownClient) -> KnownCode | None:
        known, now = self.server.evidence.code, self.server.evidence.now
        browser = self.server.evidence.session
        if known is None or known.client_id != client.client.id:
            return None
        if known.used_at is not None:
            self.server.decision.replayed = self._has_verifier(known)
            return None
        if known.expires_at <= now or browser is None or not browser.live(now):
            return None
        return KnownCode(known)

    def _has_verifier(self, code: Code) -> bool:
        """Whoever only saw the code go by could not use it; that they try proves no theft."""
        verifier: str = self.request.form.get("code_verifier", "")
        return hmac.compare_digest(create_s256_code_challenge(verifier), code.challenge)

    def authenticate_user(self, authorization_code: KnownCode) -> User | None:
        return self.server.evidence.user

    def delete_authorization_code(self, authorization_code: KnownCode) -> None:
        """It is marked as used with what it was used for, when the decision is written."""


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ANY_CLIENT
    INCLUDE_NEW_REFRESH_TOKEN = True
    server: Server

    def authenticate_refresh_token(self, refresh_token: str) -> KnownRefresh | None:
        known, session = self.server.evidence.refresh, self.server.evidence.session
        now = self.server.evidence.now
        client = self.server.evidence.client
        if known is None or session is None or client is None or session.client_id != client.id:
            return None
        if known.used_at is not None:
            self.server.decision.replayed = True  # authlib has authenticated the client
            return None
        if known.expires_at <= now or not session.live(now):
            return None
        return KnownRefresh(session)

    def authenticate_user(self, refresh_token: KnownRefresh) -> User | None:
        return self.server.evidence.user

    def revoke_old_credential(self, refresh_token: KnownRefresh) -> None:
        """It is marked as used when the decision is written."""


class CredentialsGrant(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = CONFIDENTIAL


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ANY_CLIENT
    server: Server

    def query_device_credential(self, device_code: str) -> KnownDevice | None:
        device = self.server.evidence.device
        if device is None or device.session_id is not None:
            return None
        return KnownDevice(device, self.server.evidence.now)

    def query_user_grant(self, user_code: str) -> tuple[User | None, bool] | None:
        device = self.server.evidence.device
        if device is None or device.decision is None:
            return None
        user = self.server.evidence.user
        return user, device.decision == "approved" and user is not None

    def should_slow_down(self, credential: KnownDevice) -> bool:
        return credential.device.hasty(self.server.evidence.now)


def server_for(evidence: Evidence) -> Server:
    """A server with all that the token and authorization endpoints can do."""
    server = Server(evidence)

    def generate(
        grant_type: str,
        client: KnownClient,
        user: User | None = None,
        scope: str | None = None,
        expires_in: int | None = None,
        include_refresh_token: bool = True,
    ) -> dict[str, object]:
        granted = _granted(client.client, scope, alone=user is None)
        return generator.issue(evidence, server.decision, granted, refresh=include_refresh_token)

    id_token = IdToken(evidence)
    server.register_token_generator("default", generate)
    server.register_grant(CodeGrant, [Pkce(required=True), id_token])
    server.register_grant(RefreshGrant)
    server.register_grant(CredentialsGrant)
    server.register_grant(DeviceGrant, [id_token])
    return server


def _granted(client: Client, scope: str | None, *, alone: bool) -> str:
    """A client that acts for itself is nobody: it gets no one's profile."""
    granted = client.limit(scope)
    if alone:
        granted = " ".join(each for each in granted.split() if each in api_scopes(granted))
    if not granted:
        raise InvalidScopeError
    return granted
