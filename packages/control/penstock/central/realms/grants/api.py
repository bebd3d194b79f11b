"""The protocol over HTTP. It is described by discovery, so it is no part of the OpenAPI."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from penstock.central.realms import attempts, bearer, web
from penstock.central.realms.bearer import Bearer
from penstock.central.realms.grants import service
from penstock.central.realms.grants.id_tokens import user_info
from penstock.central.realms.replies import Reply
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import NotBelieved
from penstock.central.realms.users import service as users
from penstock.central.realms.web import All, Here, RealmRoute
from penstock.kernel.http import gateway

router = APIRouter(prefix="/realms/{name}", route_class=RealmRoute, include_in_schema=False)


@router.post("/token")
async def token(request: Request, realm: Here, realms: All) -> Response:
    asked = await web.asked(request, "token")
    reply: Reply | None = None
    while reply is None:  # again if the key was turned: what it signed might be dead on arrival
        signer = await realms.keyring.signer(realm.tenant_id)
        async with web.transaction(request) as tx:
            if await realms.keyring.holds(tx, realm.tenant_id, signer):
                reply = await service.exchange(tx, realm, realms.public_url, signer, asked)
    return web.respond(attempts.note_refused(request, reply))


@router.post("/device_authorization")
async def device_authorization(request: Request, realm: Here) -> Response:
    asked = await web.asked(request, "device_authorization")
    async with web.transaction(request) as tx:
        reply = await service.authorize_device(tx, realm, asked)
    return web.respond(attempts.note_refused(request, reply))


@router.post("/revoke")
async def revoke(request: Request, realm: Here, realms: All) -> Response:
    asked = await web.asked(request, "revoke")
    holder = await _holder(realms, asked.get("token"))
    async with web.transaction(request) as tx:
        reply = await service.revoke(tx, realm, asked, holder)
    return web.respond(attempts.note_refused(request, reply))


@router.post("/introspect")
async def introspect(request: Request, realm: Here, realms: All) -> Response:
    asked = await web.asked(request, "introspect")
    holder = await _holder(realms, asked.get("token"))
    async with web.transaction(request) as tx:
        reply = await service.introspect(tx, realm, asked, holder)
    return web.respond(attempts.note_refused(request, reply))


@router.api_route("/userinfo", methods=["GET", "POST"])
async def userinfo(request: Request, realm: Here, realms: All) -> Response:
    scheme, _, given = gateway.authorization(request).partition(" ")
    holder = await _holder(realms, given) if scheme.lower() == "bearer" else None
    if holder is None or holder.tenant_id != realm.tenant_id or not holder.is_user:
        return _unauthorized("invalid_token", 401)
    if "openid" not in holder.scope.split():
        return _unauthorized("insufficient_scope", 403)
    async with web.transaction(request) as tx:
        user = await users.find(tx, holder.subject)
    if user is None:
        return _unauthorized("invalid_token", 401)
    return JSONResponse(user_info(user, holder.scope))


async def _holder(realms: Realms, token: str) -> Bearer | None:
    try:
        return await bearer.believe(realms, token)
    except NotBelieved:
        return None


def _unauthorized(error: str, status: int) -> Response:
    return JSONResponse(
        {"error": error}, status, {"WWW-Authenticate": f'Bearer realm="penstock", error="{error}"'}
    )
