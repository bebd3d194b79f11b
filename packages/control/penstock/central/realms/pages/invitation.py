"""Accepting an invitation: choose a name and a password, or come through another issuer."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from penstock.central.realms import web
from penstock.central.realms.pages import browsers, layout, login
from penstock.central.realms.pages.browsers import Browser
from penstock.central.realms.pages.layout import PageRoute, button, field, form
from penstock.central.realms.pages.markup import el
from penstock.central.realms.providers import service as providers
from penstock.central.realms.providers.model import Provider
from penstock.central.realms.users import invitations
from penstock.central.realms.users.model import (
    PASSWORD_LENGTH_MAX,
    PASSWORD_LENGTH_MIN,
    password_fault,
)
from penstock.central.realms.web import All, Here
from penstock.kernel.errors import Conflict

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
NAME_LENGTH_MAX = 100


@router.get("/invitation")
async def show_invitation(request: Request, realm: Here) -> Response:
    browser = browsers.of(request)
    token = request.query_params.get("token", "")[:200]
    async with web.transaction(request) as tx:
        invitation = await invitations.find(tx, realm.tenant_id, token)
        offered = await providers.offered(tx, realm.tenant_id)
    if invitation is None:
        return _gone(browser)
    return _page(browser, token, invitation.email, offered)


@router.post("/invitation")
async def accept(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    fields = await browsers.submitted(request, browser)
    token, name = fields.get("token", "")[:200], fields.get("full_name", "").strip()
    password = fields.get("password", "")[: PASSWORD_LENGTH_MAX + 1]
    async with web.transaction(request) as tx:
        invitation = await invitations.find(tx, realm.tenant_id, token)
        offered = await providers.offered(tx, realm.tenant_id)
    if invitation is None:
        return _gone(browser)
    fault = password_fault(password, invitation.email)
    if not name or len(name) > NAME_LENGTH_MAX or not name.isprintable():
        fault = "Say what your name is."
    if fault is not None:
        return _page(browser, token, invitation.email, offered, name=name, trouble=fault)
    with realms.passwords.place(web.address(request)) as place:
        hashed = await place.hash(password)
    try:
        async with web.transaction(request) as tx:
            # Again, and locked: of two who hold the link at once, one gets in.
            still = await invitations.find(tx, realm.tenant_id, token)
            if still is None:
                return _gone(browser)
            user = await invitations.accept(tx, still, name=name, password=hashed)
            onward = f"{realm.path}/account"
            if user.totp is not None:  # a new password alone does not let them in
                return browsers.go(f"{realm.path}/login")
            return await login.enter(tx, request, browser, user, ("pwd",), onward)
    except Conflict:
        return _gone(browser)


def _page(
    browser: Browser,
    token: str,
    email: str,
    offered: Sequence[Provider],
    *,
    name: str = "",
    trouble: str = "",
) -> Response:
    realm = browser.realm
    shown = layout.page(
        realm,
        "Welcome",
        el("p", "This lets you into ", el("span", realm.name, class_="realm"), f" as {email}."),
        layout.wrong(trouble),
        form(
            f"{realm.path}/invitation",
            browser.csrf,
            el("input", type="hidden", name="username", value=email, autocomplete="username"),
            field(
                "full_name", "Your name", value=name[:NAME_LENGTH_MAX], autocomplete="name",
                autofocus=not name, maxlength=str(NAME_LENGTH_MAX),
            ),
            field(
                "password", "Choose a password", type="password", autocomplete="new-password",
                autofocus=bool(name), minlength=str(PASSWORD_LENGTH_MIN),
                hint=f"At least {PASSWORD_LENGTH_MIN} characters. A few words do well.",
            ),
            button("Join"),
            token=token,
        ),
        login.elsewhere(realm, offered, f"{realm.path}/account"),
        status=400 if trouble else 200,
    )  # fmt: skip
    return browser.remember(shown)


def _gone(browser: Browser) -> Response:
    return layout.page(
        browser.realm,
        "This invitation is no longer good",
        el("p", "It was used, or has run out. Ask whoever invited you for a new one."),
        status=404,
    )
