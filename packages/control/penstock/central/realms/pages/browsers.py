"""A browser: who is in it, and whether a form really came from a page of ours.

Two cookies, both for this realm's paths alone. `browser` marks the browser from its
first page on; a form carries our mark of it, which no other site can know or make
(CSRF). `session` is made anew at every login.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from penstock.central.realms import parameters, web
from penstock.central.realms.bearer import SECOND_FACTOR
from penstock.central.realms.model import Realm
from penstock.central.realms.parameters import Malformed
from penstock.central.realms.service import Realms
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.sessions.model import BROWSER_LIFE, Session
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock_contracts import web_addresses
from penstock_contracts.web_addresses import WebAddress

BROWSER: Final = "penstock_browser"
SESSION: Final = "penstock_session"
COOKIE_LENGTH_MAX: Final = 100
FRESH: Final = "entered"  # a parameter of our own: the session that began for this request
FRESH_FOR: Final = timedelta(minutes=5)
FROM_HERE: Final = ("same-origin", "none", None)


@dataclass(frozen=True)
class Browser:
    realm: Realm
    mark: str  # the cookie
    is_new: bool
    csrf: str
    session_cookie: str
    secure: bool

    def remember(self, response: Response) -> Response:
        if self.is_new:
            self._set(response, BROWSER, self.mark)
        return response

    def admit(self, response: Response, cookie: str) -> Response:
        self._set(response, SESSION, cookie, int(BROWSER_LIFE.total_seconds()))
        return response

    def dismiss(self, response: Response) -> Response:
        response.delete_cookie(SESSION, path=self.realm.path)
        return response

    def _set(self, response: Response, name: str, value: str, life_s: int | None = None) -> None:
        response.set_cookie(
            name, value, max_age=life_s, path=self.realm.path, secure=self.secure, httponly=True,
            samesite="lax",
        )  # fmt: skip


def of(request: Request) -> Browser:
    realms: Realms = request.app.state.realms
    realm: Realm = request.state.realm
    known = _cookie(request, BROWSER)
    mark = known or secrets.token_urlsafe(32)
    return Browser(
        realm=realm,
        mark=mark,
        is_new=not known,
        csrf=realms.seal.mark(f"form of {realm.name}", mark),
        session_cookie=_cookie(request, SESSION),
        secure=realms.public_url.startswith("https://"),
    )


async def who(tx: Tx, browser: Browser) -> tuple[Session, User] | None:
    """Who is logged in here."""
    if not browser.session_cookie:
        return None
    session = await sessions.of_cookie(tx, browser.realm.tenant_id, browser.session_cookie)
    user = None if session is None else await users.find(tx, session.user_id)
    return None if session is None or user is None else (session, user)


def acting(known: tuple[Session, User], now: datetime) -> Actor:
    """Who is in this browser, with what rules may ask for."""
    session, user = known
    return replace(
        users.actor_of(user),
        second_factor=SECOND_FACTOR in session.amr,
        hour=now.hour,
        weekday=now.isoweekday(),
    )


async def submitted(request: Request, browser: Browser) -> Mapping[str, str]:
    """The fields of a form that came from one of our pages, in this browser."""
    fields = parameters.fields(await web.encoded(request))
    ours = hmac.compare_digest(fields.get("csrf", "").encode(), browser.csrf.encode())
    if browser.is_new or not ours or request.headers.get("sec-fetch-site") not in FROM_HERE:
        raise Malformed("this form did not come from our page, or the page is old: load it again")
    if any("\x00" in value for value in fields.values()):
        raise Malformed("the form cannot be read")
    return fields


def inside(realm: Realm, next: str) -> str:
    """Where to go on: only ever a place of this realm."""
    plain = next.isascii() and next.isprintable() and "\\" not in next and len(next) < 8_000
    here = next.startswith(f"{realm.path}/") and "//" not in next.partition("?")[0]
    return next if plain and here else f"{realm.path}/account"


def entered(onward: str, session: Session) -> str:
    """Where they wanted to go, with a sign that they logged in to go there."""
    path, mark, query = onward.partition("?")
    if not mark or not path.endswith("/authorize"):
        return onward
    return f"{path}?{query}&{FRESH}={session.id}"


def is_fresh(session: Session, sign: str, now: datetime) -> bool:
    """Whether this session began for this very request, so that nobody is asked twice."""
    return sign == session.id and now < session.auth_at + FRESH_FOR


def leads_to(onward: str) -> WebAddress | None:
    """The client that sent them here: browsers ask whether a form may end there."""
    query = dict(parse_qsl(onward.partition("?")[2]))
    address = web_addresses.parse(query.get("redirect_uri", ""))
    return address if address is not None and address.is_private else None


def with_parameter(uri: str, name: str, value: str) -> str:
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode({name: value})}"


def go(where: str) -> Response:
    """See other: what follows a form is always a GET."""
    return RedirectResponse(where, 303)


def _cookie(request: Request, name: str) -> str:
    value = request.cookies.get(name, "")
    return value if len(value) <= COOKIE_LENGTH_MAX and value.isascii() else ""
