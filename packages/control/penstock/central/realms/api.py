"""What a realm says about itself: discovery and keys."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from penstock.central.realms import owners, suspension
from penstock.central.realms.clients.model import GRANTS
from penstock.central.realms.grants.requests import PROMPTS, RESPONSE_MODES
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.model import ALGORITHM, SCOPES, Realm
from penstock.central.realms.service import Realms
from penstock.central.realms.web import All, Here, RealmRoute
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Reference, Text

router = APIRouter(route_class=RealmRoute, include_in_schema=False)
management = APIRouter(prefix="/v1/realm", tags=["realms"], route_class=TxRoute)
SECRETS = ["client_secret_basic", "client_secret_post"]


class Rotation(Body):
    distrust: Annotated[bool, Field(description="refuse what the old key signed, at once")] = False
    tenant: Reference | None = None


class RotationView(View):
    issuer: str
    kid: str


class Shutting(Body):
    reason: Annotated[Text, Field(min_length=1)]
    tenant: Reference | None = None


class RealmView(View):
    tenant: str
    suspended: bool


# The second form is RFC 8414's, where the well-known part comes before the issuer's path.
@router.get("/realms/{name}/.well-known/openid-configuration")
@router.get("/.well-known/oauth-authorization-server/realms/{name}")
async def discovery(realm: Here) -> Response:
    return JSONResponse(metadata(realm))


@router.get("/realms/{name}/jwks")
async def jwks(realm: Here, realms: All) -> Response:
    keys = await realms.keyring.published(realm.tenant_id)
    return JSONResponse({"keys": [key.public for key in keys]})


@management.post("/rotate")
async def rotate_keys(body: Rotation, actor: Caller, tx: Tx, request: Request) -> RotationView:
    """Sign with the next key from now on. What the old one signed runs out by itself."""
    realms: Realms = request.app.state.realms
    owner = await owners.of(tx, actor, body.tenant, "realm.rotate")
    await hosting.refuse_hosted(tx, owner, "a signing key")
    kid = await realms.keyring.rotate(tx, actor, owner, distrust=body.distrust)
    return RotationView(issuer=(await realms.of(tx, owner)).issuer, kid=kid)


@management.post("/suspend")
async def suspend_realm(body: Shutting, actor: Caller, tx: Tx) -> RealmView:
    """Let nobody in, and believe no token or personal key of the realm, at once. The tenant's own
    keys work as before."""
    owner = await suspension.suspend(tx, actor, body.tenant, body.reason)
    return RealmView(tenant=owner, suspended=True)


@management.post("/resume")
async def resume_realm(body: Shutting, actor: Caller, tx: Tx) -> RealmView:
    """Let the realm's people in again."""
    owner = await suspension.resume(tx, actor, body.tenant, body.reason)
    return RealmView(tenant=owner, suspended=False)


def metadata(realm: Realm) -> dict[str, object]:
    """OpenID Connect Discovery 1.0, RFC 8414."""
    return {
        "issuer": realm.issuer,
        "authorization_endpoint": realm.at("authorize"),
        "token_endpoint": realm.at("token"),
        "jwks_uri": realm.at("jwks"),
        "userinfo_endpoint": realm.at("userinfo"),
        "revocation_endpoint": realm.at("revoke"),
        "introspection_endpoint": realm.at("introspect"),
        "device_authorization_endpoint": realm.at("device_authorization"),
        "end_session_endpoint": realm.at("logout"),
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": list(RESPONSE_MODES),
        "grant_types_supported": list(GRANTS),
        "code_challenge_methods_supported": ["S256"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
        "token_endpoint_auth_methods_supported": [*SECRETS, "none"],
        "revocation_endpoint_auth_methods_supported": [*SECRETS, "none"],
        "introspection_endpoint_auth_methods_supported": SECRETS,
        "claims_supported": [
            "sub",
            "iss",
            "aud",
            "exp",
            "iat",
            "auth_time",
            "amr",
            "name",
            "email",
        ],
        "authorization_response_iss_parameter_supported": True,
        "prompt_values_supported": list(PROMPTS),
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,  # if it were left out, it would be supported
        "require_request_uri_registration": False,
    }
