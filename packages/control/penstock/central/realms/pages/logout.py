"""Signing out, also when a client asks for it (OpenID Connect RP-Initiated Logout)."""

from fastapi import APIRouter, Request, Response

from penstock.central.realms import web
from penstock.central.realms.clients import service as clients
from penstock.central.realms.pages import browsers, layout
from penstock.central.realms.pages.layout import PageRoute, button, form
from penstock.central.realms.pages.markup import el
from penstock.central.realms.parameters import read
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.users import service as users
from penstock.central.realms.web import Here
from penstock.kernel.db import Tx
from penstock_contracts import web_addresses
from penstock_contracts.ids import TenantId

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)


@router.get("/logout")
async def ask(request: Request, realm: Here) -> Response:
    """A page that asks: a link on another site must not sign anyone out."""
    browser = browsers.of(request)
    given = read(web.query(request))
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        back = await _back(tx, realm.tenant_id, given)
    if known is None:
        return browsers.go(back) if back else _out(request)
    shown = layout.page(
        realm,
        "Sign out?",
        el("p", f"You are signed in as {known[1].email}.", class_="soft"),
        form(f"{realm.path}/logout", browser.csrf, button("Sign out"), query=web.query(request)),
        forms_lead_to=web_addresses.parse(back),
    )
    return browser.remember(shown)


@router.post("/logout")
async def log_out(request: Request, realm: Here) -> Response:
    """End the session of this browser, and of the clients that it let in."""
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        back = await _back(tx, realm.tenant_id, read(fields.get("query", "")))
        if known is not None:
            await sessions.end(tx, users.actor_of(known[1]), known[0], "signed out")
    return browser.dismiss(browsers.go(back) if back else _out(request))


async def _back(tx: Tx, tenant_id: TenantId, given: dict[str, str]) -> str:
    """Where the client wants them afterwards, if that is the client's own place."""
    uri = given.get("post_logout_redirect_uri", "")
    client = await clients.find(tx, tenant_id, given.get("client_id", ""))
    if client is None or uri not in client.redirect_uris:
        return ""
    state = given.get("state", "")
    return browsers.with_parameter(uri, "state", state) if state else uri


def _out(request: Request) -> Response:
    realm = browsers.of(request).realm
    return layout.page(
        realm,
        "You are signed out",
        el("p", el("a", "Sign in again", href=f"{realm.path}/login")),
    )
