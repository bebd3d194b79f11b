"""Revocation, introspection and the start of the device flow, as authlib runs them."""

# authlib has no types of its own, and the stubs for it are of another version: what comes
# from it is checked where it leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportDeprecated=false

from collections.abc import Mapping

from authlib.oauth2.rfc6749 import InvalidScopeError, OAuth2Request, UnauthorizedClientError
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint

from penstock.central.realms.clients.model import DEVICE
from penstock.central.realms.grants.known import KnownClient, KnownToken, Presented
from penstock.central.realms.grants.model import DEVICE_LIFE, POLL_INTERVAL_S, Device
from penstock.central.realms.grants.server import Server
from penstock.central.realms.grants.store import hashed


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"]  # noqa: RUF012 authlib's own shape

    def __init__(self, server: Server, presented: Presented | None) -> None:
        super().__init__(server)
        self.presented = presented
        self.revoked: Presented | None = None

    def query_token(self, token_string: str, token_type_hint: str | None) -> KnownToken | None:
        return KnownToken(self.presented) if self.presented is not None else None

    def revoke_token(self, token: KnownToken, request: OAuth2Request) -> None:
        self.revoked = token.presented


class Introspection(IntrospectionEndpoint):
    """Only for clients that can keep a secret: others would learn whether a token is good."""

    CLIENT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]  # noqa: RUF012 authlib's own shape

    def __init__(self, server: Server, presented: Presented | None) -> None:
        super().__init__(server)
        self.presented = presented

    def query_token(self, token_string: str, token_type_hint: str | None) -> KnownToken | None:
        return KnownToken(self.presented) if self.presented is not None else None

    def check_permission(
        self, token: KnownToken, client: KnownClient, request: OAuth2Request
    ) -> bool:
        return not client.client.public

    def introspect_token(self, token: KnownToken) -> dict[str, object]:
        kind = "Bearer" if token.presented.jti else "refresh_token"
        return {"active": True, "token_type": kind, **token.presented.claims}


class DeviceAuthorization(DeviceAuthorizationEndpoint):
    EXPIRES_IN = int(DEVICE_LIFE.total_seconds())
    INTERVAL = POLL_INTERVAL_S
    server: Server

    def __init__(self, server: Server, agent: str) -> None:
        super().__init__(server)
        self.agent = agent

    def authenticate_client(self, request: OAuth2Request) -> KnownClient:
        client: KnownClient = super().authenticate_client(request)
        if not client.check_grant_type(DEVICE):
            raise UnauthorizedClientError("The client is not authorized to use the device flow")
        if not client.client.limit(request.payload.scope):
            raise InvalidScopeError
        return client

    def get_verification_uri(self) -> str:
        return self.server.evidence.realm.at("device")

    def save_device_credential(
        self, client_id: str, scope: str | None, data: Mapping[str, str]
    ) -> None:
        client, now = self.server.evidence.client, self.server.evidence.now
        assert client is not None  # noqa: S101 authlib authenticated it
        self.server.decision.device = Device(
            hash=hashed(data["device_code"]),
            client_id=client_id,
            user_code=data["user_code"],
            scope=client.limit(scope),
            agent=self.agent,
            expires_at=now + DEVICE_LIFE,
            interval_s=POLL_INTERVAL_S,
        )
