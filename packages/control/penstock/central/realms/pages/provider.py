"""Signing in through another issuer: there and back."""

from fastapi import APIRouter, Request, Response

from penstock.central.realms import web
from penstock.central.realms.pages import browsers, layout, login, tickets
from penstock.central.realms.pages.layout import PageRoute
from penstock.central.realms.providers import relying
from penstock.central.realms.providers import service as providers
from penstock.central.realms.providers.relying import ProviderFailed, Trip
from penstock.central.realms.web import All, Here
from penstock.kernel import log

router = APIRouter(prefix="/realms/{name}", route_class=PageRoute, include_in_schema=False)
logger = log.get(__name__)
FAILED = "Signing in there did not work. Try again, or sign in with your password."
NOT_INVITED = "Nobody here knows you by that account. Ask an admin of yours to invite you."


@router.get("/provider/callback")
async def come_back(request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
    async with web.transaction(request) as tx:
        taken = tickets.take(realms.seal, browser, "provider", tx.now, state)
        provider = await providers.find(tx, realm.tenant_id, taken["provider"]) if taken else None
    if taken is None or provider is None or not code:
        return layout.trouble(realm, FAILED)
    secret = realms.seal.open(providers.purpose(provider.id), provider.client_secret).decode()
    trip = Trip(taken["nonce"], taken["verifier"])
    back = realm.at("provider/callback")
    try:
        person = await relying.arrival(provider, secret, trip, code, back)
    except ProviderFailed as failure:
        logger.warning("provider failed", provider=provider.id, error=str(failure))
        return layout.trouble(realm, FAILED)
    async with web.transaction(request) as tx:
        user = await providers.admit(tx, provider, person)
        if user is None:
            return layout.trouble(realm, NOT_INVITED, 403)
        return await login.enter(tx, request, browser, user, ("fed",), taken["next"])


@router.get("/provider/{id}")
async def set_out(id: str, request: Request, realm: Here, realms: All) -> Response:
    browser = browsers.of(request)
    onward = browsers.inside(realm, request.query_params.get("next", ""))
    trip = Trip.new()
    async with web.transaction(request) as tx:
        provider = await providers.find(tx, realm.tenant_id, id)
        now = tx.now
    if provider is None:
        return layout.trouble(realm, FAILED, 404)
    state = tickets.give(
        realms.seal, browser, "provider", now, provider=provider.id, nonce=trip.nonce,
        verifier=trip.verifier, next=onward,
    )  # fmt: skip
    try:
        where = await relying.departure(provider, trip, state, realm.at("provider/callback"))
    except ProviderFailed as failure:
        logger.warning("provider failed", provider=provider.id, error=str(failure))
        return layout.trouble(realm, FAILED, 502)
    return browser.remember(browsers.go(where))
