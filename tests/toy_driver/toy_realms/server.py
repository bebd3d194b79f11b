"""The toy's side of OpenID Connect: as much of it as the rules ask for."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from penstock_contracts.drivers.realm import COMMAND_LINE, PORTAL

from .world import Json, Realm, World

Answer = tuple[int, Json]
Handle = Callable[[Realm, str, dict[str, str]], Answer]


def get(realm: Realm, what: str, query: dict[str, str]) -> Answer:
    if what == ".well-known/openid-configuration":
        ends = {"authorization": "auth", "token": "token", "device_authorization": "device"}
        told = {f"{name}_endpoint": f"{realm.issuer}/{path}" for name, path in ends.items()}
        return 200, {"issuer": realm.issuer, "jwks_uri": f"{realm.issuer}/keys", **told}
    if what == "keys":
        return 200, {"keys": [realm.public_key()]}
    asked = (query.get("client_id"), query.get("redirect_uri"), query.get("code_challenge_method"))
    good = what == "auth" and asked == (PORTAL, realm.wanted.portal, "S256")
    return (200, {"page": "sign in"}) if good else (400, {"error": "invalid_request"})


def post(realm: Realm, what: str, form: dict[str, str]) -> Answer:
    if what == "device" and form.get("client_id") == COMMAND_LINE and not realm.suspended:
        return 200, {"device_code": "d", "user_code": "AAAA-BBBB", "expires_in": 600}
    wrong = "unauthorized_client" if what == "device" else "unsupported_grant_type"
    return 400, {"error": wrong}


@contextmanager
def serving(world: World) -> Generator[None]:
    """On a port of this machine, which `world.address` says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            self._answer(get, url.path, dict(parse_qsl(url.query)))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._answer(post, self.path, dict(parse_qsl(self.rfile.read(length).decode())))

        def _answer(self, handle: Handle, path: str, given: dict[str, str]) -> None:
            _, _, name, what = path.split("/", 3)
            realm = world.realms.get(name)
            status, told = handle(realm, what, given) if realm else (404, {})
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    world.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
