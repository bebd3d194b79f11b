"""The device flow's page: a program without a browser shows a code, a person types it here."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from penstock.central.realms import web
from penstock.central.realms.clients import service as clients
from penstock.central.realms.grants import devices
from penstock.central.realms.grants.model import Device, normal_user_code
from penstock.central.realms.pages import browsers, layout
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.consent import scope_list
from penstock.central.realms.pages.layout import PageRoute, button, field, form
from penstock.central.realms.pages.markup import el
from penstock.central.realms.users.model import User
from penstock.central.realms.web import Here

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
UNKNOWN = "That code is not known, or has run out. Ask the program for a new one."


@router.get("/device")
async def show_device(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    typed = request.query_params.get("user_code", "")[:20]
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is None:
            onward = f"{realm.path}/device?{urlencode({'user_code': typed})}"
            return browsers.go(f"{realm.path}/login?{urlencode({'next': onward})}")
        if not typed:
            return _code_page(browser)
        device = await devices.waiting(tx, realm.tenant_id, normal_user_code(typed))
        client = await clients.find(tx, realm.tenant_id, device.client_id) if device else None
    if device is None or client is None:
        return _code_page(browser, trouble=UNKNOWN)
    return _confirm_page(browser, device, client.name, known[1])


@router.post("/device")
async def decide(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    code = normal_user_code(fields.get("user_code", "")[:20])
    decision = fields.get("decision", "")
    if not decision:  # only the code was typed so far
        return browsers.go(f"{realm.path}/device?{urlencode({'user_code': code})}")
    async with web.transaction(request) as tx:
        known = await browsers.who(tx, browser)
        if known is None:
            return browsers.go(f"{realm.path}/device?{urlencode({'user_code': code})}")
        decided = await devices.decide(
            tx, realm.tenant_id, code, known[0], known[1], allow=decision == "allow"
        )
    if not decided:
        return _code_page(browser, trouble=UNKNOWN)
    if decision != "allow":
        return layout.page(realm, "Refused", el("p", "The program was not let in."))
    return layout.page(
        realm,
        "You are signed in",
        el("p", "Go back to the program that showed you the code. You can close this page."),
    )


def _code_page(browser: Browser, *, trouble: str = "") -> Response:
    realm = browser.realm
    shown = layout.page(
        realm,
        "Enter the code",
        el("p", "that the program shows you.", class_="soft"),
        layout.wrong(trouble),
        form(
            f"{realm.path}/device",
            browser.csrf,
            field("user_code", "Code", autofocus=True, class_="code", maxlength="9"),
            button("Continue"),
        ),
        status=400 if trouble else 200,
    )
    return browser.remember(shown)


def _confirm_page(browser: Browser, device: Device, client: str, user: User) -> Response:
    realm = browser.realm
    shown = layout.page(
        realm,
        f"Let {client} in?",
        el("p", f"You are signed in as {user.email}.", class_="soft"),
        el(
            "p",
            "Allow this only if you started it yourself, just now, and it shows this code:",
        ),
        el("p", el("strong", device.user_code)),
        el("p", el("strong", client), " would be able to:"),
        scope_list(device.scope.split()),
        form(
            f"{realm.path}/device",
            browser.csrf,
            el(
                "div",
                button("Refuse", plain=True, name="decision", value="refuse"),
                button("Allow", name="decision", value="allow"),
                class_="pair",
            ),
            user_code=device.user_code,
        ),
    )
    return browser.remember(shown)
