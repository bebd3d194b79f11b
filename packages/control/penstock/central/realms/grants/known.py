"""What was read, as authlib asks about it."""

# authlib has no types of its own, and the stubs for it are of another version: what comes
# from it is checked where it leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportDeprecated=false

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, OAuth2Request, TokenMixin
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc8628 import DeviceCredentialMixin

from penstock.central.realms.clients import service as clients
from penstock.central.realms.clients.model import Client
from penstock.central.realms.grants.model import Code, Device
from penstock.central.realms.parameters import Asked
from penstock.central.realms.sessions.model import Session


class Request(OAuth2Request):
    def __init__(self, asked: Asked) -> None:
        headers = {"Authorization": asked.authorization} if asked.authorization else {}
        super().__init__(asked.method, asked.uri, headers=headers)
        self.payload = BasicOAuth2Payload(dict(asked.parameters))

    @property
    def form(self) -> dict[str, str]:
        return self.payload.data if self.method == "POST" else {}

    @property
    def args(self) -> dict[str, str]:
        return self.payload.data if self.method != "POST" else {}


class KnownClient(ClientMixin):
    """A client as authlib asks about it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def get_client_id(self) -> str:
        return self.client.id

    def get_default_redirect_uri(self) -> None:
        return None  # it is always said, so that it can always be compared

    def get_allowed_scope(self, scope: str | None) -> str | None:
        return self.client.limit(scope) or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return self.client.redirects_to(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        known = self.client.secret_hash
        return known is not None and hmac.compare_digest(clients.hash_secret(client_secret), known)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return (method == "none") == self.client.public

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code" and self.check_grant_type("authorization_code")

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.client.grants


class KnownCode(AuthorizationCodeMixin):
    code_challenge_method = "S256"

    def __init__(self, code: Code) -> None:
        self.code = code
        self.code_challenge = code.challenge

    def get_redirect_uri(self) -> str:
        return self.code.redirect_uri

    def get_scope(self) -> str:
        return self.code.scope

    def get_nonce(self) -> str | None:
        return self.code.nonce

    def get_auth_time(self) -> int:
        return int(self.code.auth_at.timestamp())

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> list[str]:
        return list(self.code.amr)


class KnownDevice(DeviceCredentialMixin):
    def __init__(self, device: Device, now: datetime) -> None:
        self.device = device
        self.now = now

    def get_client_id(self) -> str:
        return self.device.client_id

    def get_scope(self) -> str:
        return self.device.scope

    def get_user_code(self) -> str:
        return self.device.user_code

    def is_expired(self) -> bool:
        return self.device.expires_at <= self.now


class KnownRefresh(TokenMixin):
    def __init__(self, session: Session) -> None:
        self.session = session

    def check_client(self, client: KnownClient) -> bool:
        return self.session.client_id == client.client.id

    def get_scope(self) -> str:
        return self.session.scope


@dataclass(frozen=True)
class Presented:
    """A token that someone asks about, if it is one of this realm's and still good."""

    client_id: str
    session_id: str | None
    jti: str | None  # an access token has one
    expires_at: datetime
    claims: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)


class KnownToken(TokenMixin):
    def __init__(self, presented: Presented) -> None:
        self.presented = presented

    def check_client(self, client: KnownClient) -> bool:
        return self.presented.client_id == client.client.id

    def is_expired(self) -> bool:
        return False  # what is not good any more is not presented

    def is_revoked(self) -> bool:
        return False
