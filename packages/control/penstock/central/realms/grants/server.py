"""authlib's authorization server over evidence in memory.

authlib's core is synchronous and asks for rows as it goes. Ours are read before it runs
and written after it has decided, in one transaction; between the two it sees only this.
Its exceptions and types end here: what leaves is a Reply and a Decision.
"""

# authlib has no types of its own, and the stubs for it are of another version: what comes
# from it is checked where it leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportDeprecated=false

import json
from collections.abc import Mapping
from dataclasses import dataclass

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Error, OAuth2Request

from penstock.central.realms.grants.evidence import Decision, Evidence
from penstock.central.realms.grants.known import KnownClient, Request
from penstock.central.realms.model import SCOPES
from penstock.central.realms.parameters import Asked
from penstock.central.realms.replies import Reply
from penstock.central.realms.users.model import User


@dataclass(frozen=True)
class Considered:
    """An authorization request that is in order; whether it is granted is for the person to say."""

    grant: object


class Server(AuthorizationServer):
    """One request's server: what it may know, and what it decided."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(scopes_supported=SCOPES)
        self.evidence = evidence
        self.decision = Decision()

    def tokens(self, asked: Asked) -> Reply:
        """The token endpoint."""
        try:
            return _reply(self.create_token_response(asked))
        except OAuth2Error as error:
            return self._refused(error)

    def ask(self, endpoint: object, asked: Asked) -> Reply:
        """Any other endpoint of authlib's kind."""
        self.register_endpoint(endpoint)
        name: str = endpoint.ENDPOINT_NAME
        try:
            return _reply(self.create_endpoint_response(name, asked))
        except OAuth2Error as error:
            return self._refused(error)

    def consider(self, asked: Asked, user: User | None) -> Considered | Reply:
        """The authorization endpoint, up to where a person is needed."""
        try:
            return Considered(self.get_consent_grant(asked, end_user=user))
        except OAuth2Error as error:
            return self._refused(error)

    def settle(self, considered: Considered, user: User | None) -> Reply:
        """A code for this user; without one, the refusal that they chose."""
        grant = considered.grant
        return _reply(self.create_authorization_response(grant.request, user, grant))

    def refuse(self, asked: Asked, error: str, description: str = "") -> Reply:
        """Tell the client, at an address that was found to be its own."""
        refusal = OAuth2Error(
            description or None, error=error, redirect_uri=asked.get("redirect_uri"),
            state=asked.get("state") or None,
        )  # fmt: skip
        return self._refused(refusal)

    def _refused(self, error: OAuth2Error) -> Reply:
        return _reply(self.handle_response(*error()))

    def query_client(self, client_id: str) -> KnownClient | None:
        client = self.evidence.client
        return KnownClient(client) if client is not None and client.id == client_id else None

    def save_token(self, token: Mapping[str, object], request: OAuth2Request) -> None:
        """Nothing to do: the generator of the token noted what there is to write."""

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: Asked | OAuth2Request) -> OAuth2Request:
        return request if isinstance(request, OAuth2Request) else Request(request)

    def handle_response(self, status: int, body: object, headers: list[tuple[str, str]]) -> Reply:
        given: dict[str, object] = dict(body) if isinstance(body, Mapping | list) else {}
        named = dict(headers)
        if isinstance(body, str) and body.startswith("{"):
            given = json.loads(body)
        if "Location" in named:
            # RFC 9207: so that a client with several issuers knows which one answered.
            issuer = [("iss", self.evidence.realm.issuer)]
            named["Location"] = add_params_to_uri(named["Location"], issuer)
        client = self.evidence.client
        return Reply(status, given, named, client.id if client is not None else None)


def _reply(given: object) -> Reply:
    """What handle_response made, after its way through authlib."""
    assert isinstance(given, Reply)  # noqa: S101 authlib returns what it was given
    return given
