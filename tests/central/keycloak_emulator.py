"""Keycloak as far as central speaks with it: admin REST and OpenID Connect, with faults.

Its answers are those of Keycloak 26.4, against which the same suite was run
(tests/central/test_realm_providers.py says how to repeat that).
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import uuid4

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.kernel.http import ops
from penstock.local import ports

Json = dict[str, Any]
SECRET: Final = "emulated-secret"
ADMIN: Final = "penstock"
BUILT_IN_SCOPES: Final = ("basic", "profile", "email", "roles", "offline_access")
Handler = Callable[[Request], Awaitable[Response]]


@dataclass
class Fault:
    """Happens to the next request that it is for, once."""

    method: str
    path: str  # how it ends
    status: int = 0  # answered instead, before anything is done; 0: not
    lost: bool = False  # everything is done, and the answer never comes
    slow_s: float = 0.0

    def fits(self, request: Request) -> bool:
        return request.method == self.method and request.url.path.endswith(self.path)


@dataclass
class Kept:
    """A realm."""

    about: Json
    key: RSAKey | ECKey
    scopes: dict[str, Json] = field(default_factory=dict)
    clients: dict[str, Json] = field(default_factory=dict)
    users: dict[str, Json] = field(default_factory=dict)
    mails: list[str] = field(default_factory=list)


@dataclass
class Emulator:
    address: str
    realms: dict[str, Kept] = field(default_factory=dict)
    faults: "deque[Fault]" = field(default_factory=deque)
    asked: list[str] = field(default_factory=list)
    down: bool = False
    tokens: dict[str, set[str]] = field(default_factory=dict)  # the realms that each is for
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.realms["master"] = Kept({"realm": "master", "enabled": True}, new_key())

    def issuer(self, name: str) -> str:
        return f"{self.address}/realms/{name}"

    def count(self, what: str) -> int:
        return sum(1 for each in self.asked if each == what)

    def sign(self, name: str, claims: Json, *, typ: str = "at+jwt", key: Any = None) -> str:
        kept = key or self.realms[name].key
        about: Json = kept.as_dict(private=False)
        header = {"alg": about["alg"], "kid": about["kid"], "typ": typ}
        return jwt.encode(header, claims, kept, [str(about["alg"])], default_type=None)

    def claims(self, name: str, user: Json, client: Json, scope: str) -> Json:
        now = int(time.time())
        audiences = [
            mapper["config"]["included.custom.audience"] for mapper in client["protocolMappers"]
        ]
        return {
            "exp": now + self.realms[name].about["accessTokenLifespan"],
            "iat": now,
            "jti": f"onrtro:{uuid4()}",
            "iss": self.issuer(name),
            "aud": audiences[0] if len(audiences) == 1 else audiences,
            "sub": user["id"],
            "typ": "Bearer",
            "azp": client["clientId"],
            "sid": str(uuid4()),
            "scope": f"openid profile {scope} email",
            "email_verified": user["emailVerified"],
            "name": f"{user.get('firstName', '')} {user.get('lastName', '')}".strip(),
            "preferred_username": user["username"],
            "email": user["email"],
        }


def new_key(algorithm: str = "RS256") -> RSAKey | ECKey:
    kid = str(uuid4())
    if algorithm == "ES256":
        return ECKey.generate_key("P-256", {"alg": algorithm, "use": "sig", "kid": kid})
    return RSAKey.generate_key(2048, {"alg": algorithm, "use": "sig", "kid": kid})


def error(status: int, message: str) -> Response:
    return JSONResponse({"errorMessage": message}, status)


class Server:
    """The routes, over what the emulator keeps."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator

    def routes(self) -> list[Route]:
        admin = "/admin/realms"
        public = "/realms/{realm}"
        return [
            Route(admin, self.admin(self.make_realm), methods=["POST"]),
            Route(f"{admin}/{{realm}}", self.admin(self.realm), methods=["GET", "PUT", "DELETE"]),
            self.collection("client-scopes", self.scopes),
            self.collection("clients", self.clients),
            self.collection("users", self.users),
            Route(f"{admin}/{{realm}}/clients/{{id}}", self.admin(self.client), methods=["PUT"]),
            Route(f"{admin}/{{realm}}/users/{{id}}", self.admin(self.user), methods=["PUT"]),
            Route(
                f"{admin}/{{realm}}/users/{{id}}/{{verb}}", self.admin(self.act), methods=["PUT"]
            ),
            Route(f"{public}/.well-known/openid-configuration", self.faulty(self.discovery)),
            Route(f"{public}/protocol/openid-connect/certs", self.faulty(self.certs)),
            Route(
                f"{public}/protocol/openid-connect/token", self.faulty(self.token), methods=["POST"]
            ),
            Route(f"{public}/protocol/openid-connect/auth", self.faulty(self.authorize)),
            Route(
                f"{public}/protocol/openid-connect/auth/device",
                self.faulty(self.device),
                methods=["POST"],
            ),
        ]

    def collection(self, name: str, handle: Handler) -> Route:
        path = f"/admin/realms/{{realm}}/{name}"
        return Route(path, self.admin(handle), methods=["GET", "POST"])

    def faulty(self, handle: Handler) -> Handler:
        async def handler(request: Request) -> Response:
            emulator = self.emulator
            emulator.asked.append(f"{request.method} {request.url.path}")
            fault = next((each for each in emulator.faults if each.fits(request)), None)
            if fault is not None:
                emulator.faults.remove(fault)
                await asyncio.sleep(fault.slow_s)
                if fault.status:
                    return error(fault.status, "emulated")
            if emulator.down:
                return error(503, "down")
            answer = await handle(request)
            if fault is not None and fault.lost:
                await emulator.released.wait()
            return answer

        return handler

    def admin(self, handle: Handler) -> Handler:
        async def handler(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme != "Bearer" or token not in self.emulator.tokens:
                return JSONResponse({"error": "HTTP 401 Unauthorized"}, 401)
            name = request.path_params.get("realm")
            if name is not None and name not in self.emulator.realms:
                return JSONResponse({"error": "Realm not found."}, 404)
            if name is not None and name not in self.emulator.tokens[token]:
                # A token says what its holder might do when it was issued.
                seen = request.url.path.endswith(f"/admin/realms/{name}")
                if seen and request.method == "GET":
                    return JSONResponse({"realm": name})
                return JSONResponse({"error": "HTTP 403 Forbidden"}, 403)
            return await handle(request)

        return self.faulty(handler)

    def kept(self, request: Request) -> Kept:
        return self.emulator.realms[request.path_params["realm"]]

    async def make_realm(self, request: Request) -> Response:
        about = await request.json()
        if about["realm"] in self.emulator.realms:
            return error(409, "Conflict detected. See logs for details")
        kept = Kept({"smtpServer": {}, **about}, new_key())
        kept.scopes = {name: {"name": name} for name in BUILT_IN_SCOPES}
        self.emulator.realms[about["realm"]] = kept
        return Response(status_code=201)

    async def realm(self, request: Request) -> Response:
        kept = self.kept(request)
        if request.method == "GET":
            return JSONResponse(kept.about)
        if request.method == "PUT":
            kept.about.update(await request.json())
        else:
            del self.emulator.realms[request.path_params["realm"]]
        return Response(status_code=204)

    async def scopes(self, request: Request) -> Response:
        kept = self.kept(request)
        if request.method == "GET":
            return JSONResponse(list(kept.scopes.values()))
        made = await request.json()
        if made["name"] in kept.scopes:
            return error(409, f"Client Scope {made['name']} already exists")
        kept.scopes[made["name"]] = made
        return Response(status_code=201)

    async def clients(self, request: Request) -> Response:
        kept = self.kept(request)
        if request.method == "GET":
            found = kept.clients.get(request.query_params["clientId"])
            return JSONResponse([found] if found else [])
        made = await request.json()
        if made["clientId"] in kept.clients:
            return error(409, f"Client {made['clientId']} already exists")
        unknown = {*made["optionalClientScopes"], *made["defaultClientScopes"]} - set(kept.scopes)
        assert not unknown, f"Keycloak leaves out scopes that it does not know: {unknown}"
        kept.clients[made["clientId"]] = {"id": str(uuid4()), "enabled": True, **made}
        return Response(status_code=201)

    async def client(self, request: Request) -> Response:
        changed = await request.json()
        self.kept(request).clients[changed["clientId"]] = changed
        return Response(status_code=204)

    async def users(self, request: Request) -> Response:
        kept = self.kept(request)
        if request.method == "GET":
            email = request.query_params["email"]
            return JSONResponse([each for each in kept.users.values() if each["email"] == email])
        made = await request.json()
        if any(made["email"] == each["email"] for each in kept.users.values()):
            return error(409, "User exists with same username")
        id = str(uuid4())
        kept.users[id] = {"id": id, **made}
        return Response(status_code=201)

    async def user(self, request: Request) -> Response:
        kept = self.kept(request)
        kept.users[request.path_params["id"]].update(await request.json())
        return Response(status_code=204)

    async def act(self, request: Request) -> Response:
        kept = self.kept(request)
        user = kept.users[request.path_params["id"]]
        if request.path_params["verb"] == "reset-password":
            user["password"] = (await request.json())["value"]
        else:
            kept.mails.append(user["email"])
        return Response(status_code=204)

    async def discovery(self, request: Request) -> Response:
        name = request.path_params["realm"]
        if name not in self.emulator.realms:
            return JSONResponse({"error": "Realm does not exist"}, 404)
        issuer = self.emulator.issuer(name)
        endpoints = f"{issuer}/protocol/openid-connect"
        return JSONResponse(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{endpoints}/auth",
                "token_endpoint": f"{endpoints}/token",
                "device_authorization_endpoint": f"{endpoints}/auth/device",
                "revocation_endpoint": f"{endpoints}/revoke",
                "jwks_uri": f"{endpoints}/certs",
            }
        )

    async def certs(self, request: Request) -> Response:
        kept = self.emulator.realms.get(request.path_params["realm"])
        if kept is None:
            return JSONResponse({"error": "Realm does not exist"}, 404)
        encrypting = {**new_encrypting(), "use": "enc", "alg": "RSA-OAEP", "kid": "encrypts"}
        return JSONResponse({"keys": [kept.key.as_dict(private=False), encrypting]})

    async def token(self, request: Request) -> Response:
        name, form = request.path_params["realm"], await form_of(request)
        kept = self.emulator.realms.get(name)
        if kept is None:
            return JSONResponse({"error": "Realm does not exist"}, 404)
        if not kept.about["enabled"]:
            return oauth(403, "access_denied", "Realm not enabled")
        if form["grant_type"] == "client_credentials":
            if (form["client_id"], form["client_secret"]) != (ADMIN, SECRET):
                return oauth(401, "invalid_client", "Invalid client or Invalid client credentials")
            token = str(uuid4())
            self.emulator.tokens[token] = set(self.emulator.realms)
            return JSONResponse({"access_token": token, "expires_in": 60})
        client = kept.clients[form["client_id"]]
        if not client["directAccessGrantsEnabled"]:
            return oauth(400, "unauthorized_client", "Client not allowed for direct access grants")
        users = (each for each in kept.users.values() if each["email"] == form["username"])
        user = next(users, None)
        if user is None or user.get("password") != form["password"]:
            return oauth(401, "invalid_grant", "Invalid user credentials")
        if user["requiredActions"]:
            return oauth(400, "invalid_grant", "Account is not fully set up")
        claims = self.emulator.claims(name, user, client, "administer")
        about = {**claims, "aud": client["clientId"], "typ": "ID"}
        return JSONResponse(
            {
                "access_token": self.emulator.sign(name, claims),
                "id_token": self.emulator.sign(name, about, typ="JWT"),
                "expires_in": kept.about["accessTokenLifespan"],
            }
        )

    async def authorize(self, request: Request) -> Response:
        kept, query = self.kept(request), request.query_params
        client = kept.clients[query["client_id"]]
        back = query["redirect_uri"]
        if not client["standardFlowEnabled"] or back not in client["redirectUris"]:
            return Response("Invalid parameter: redirect_uri", 400)
        if query.get("code_challenge_method") != client["attributes"].get(
            "pkce.code.challenge.method"
        ):
            return Response(status_code=302, headers={"Location": f"{back}?error=invalid_request"})
        return Response("Sign in to your account")

    async def device(self, request: Request) -> Response:
        name, form = request.path_params["realm"], await form_of(request)
        kept = self.emulator.realms[name]
        if not kept.about["enabled"]:
            return oauth(403, "access_denied", "Realm not enabled")
        attributes = kept.clients[form["client_id"]]["attributes"]
        if attributes.get("oauth2.device.authorization.grant.enabled") != "true":
            return oauth(401, "unauthorized_client", "Client is not allowed to initiate OAuth 2.0")
        if "pkce.code.challenge.method" in attributes and "code_challenge_method" not in form:
            return oauth(400, "invalid_request", "Missing parameter: code_challenge_method")
        return JSONResponse({"device_code": "d", "user_code": "AAAA-BBBB", "expires_in": 600})


async def form_of(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode()))


def oauth(status: int, code: str, description: str) -> Response:
    return JSONResponse({"error": code, "error_description": description}, status)


def new_encrypting() -> Json:
    return dict(_ENCRYPTING.as_dict(private=False))


_ENCRYPTING = RSAKey.generate_key(2048)


@asynccontextmanager
async def running() -> AsyncGenerator[Emulator, None]:
    port = ports.pick([])
    emulator = Emulator(f"http://127.0.0.1:{port}")
    server = ops.server(Starlette(routes=Server(emulator).routes()), f"127.0.0.1:{port}")
    serving = asyncio.create_task(ops.run(server))
    await server.listening.wait()
    try:
        yield emulator
    finally:
        emulator.released.set()
        server.should_exit = True
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
