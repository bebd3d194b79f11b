"""Accepting an invitation through another issuer: the link, a sign-in there, and one is in."""

import asyncio
import html
import re
from collections.abc import AsyncGenerator

import pytest

from . import other_issuer
from .other_issuer import Other, vouched
from .plane import Central, Json
from .realm_stage import PASSWORD, Browser, Page

pytestmark = pytest.mark.anyio
ANN = "ann@acme.example"
INSIDE = "Where you are signed in"
GONE = "This invitation is no longer good"


@pytest.fixture
async def other(central: Central) -> AsyncGenerator[Other, None]:
    async with other_issuer.trusted(central) as trusted:
        yield trusted


@pytest.fixture
async def browser(other: Other) -> AsyncGenerator[Browser, None]:
    opened = Browser(other.realm.central, "acme")
    yield opened
    await opened.client.aclose()


async def invited(other: Other, email: str = ANN, role: str = "admin") -> str:
    """The link."""
    made = await other.realm.tenant.admin.made("/v1/users/invite", email=email, role=role)
    return str(made["url"])


async def accept(other: Other, browser: Browser, link: str, name: str) -> Page:
    """Open the link, continue with the other issuer, be someone there, come back."""
    page = await browser.get(link)
    assert page.status == 200, page.text
    return await browser.get(await leave(other, browser, page, name))


async def leave(other: Other, browser: Browser, page: Page, name: str) -> str:
    """The way back."""
    offer = re.search(r'href="([^"]*/provider/[^"]*)"[^>]*>Continue with corporate<', page.text)
    assert offer, page.text
    leaving = await browser.get(f"{browser.base}{html.unescape(offer.group(1))}")
    return await vouched(other, browser, name, leaving.location)


async def users(other: Other) -> list[Json]:
    return (await other.realm.tenant.admin.get("/v1/users")).items


async def test_whoever_was_invited_accepts_by_signing_in_there(
    other: Other, browser: Browser
) -> None:
    realm, link = other.realm, await invited(other)
    page = await accept(other, browser, link, "ann")
    assert (page.status, page.url.endswith("/account"), INSIDE in page.text) == (200, True, True)
    (user,) = await users(other)
    assert (user["email"], user["name"], user["role"]) == (ANN, "The ann", "admin")
    me = await realm.api(await realm.device(browser)).get("/v1/me")
    assert (me.json["id"], me.json["role"]) == (user["id"], "admin")
    stranger = Browser(realm.central, "acme")
    assert GONE in (await stranger.get(link)).text, "the link is no way to their password"
    refused = await stranger.log_in(ANN)
    assert refused.status == 401, "they have none"
    actions = await realm.central.rows(
        "SELECT action, tenant_id FROM audit_entries WHERE subject = $1 ORDER BY seq", user["id"]
    )
    assert actions == [
        {"action": action, "tenant_id": realm.tenant.id} for action in ("user.create", "user.link")
    ]
    await stranger.client.aclose()


@pytest.mark.parametrize(
    "name", ["stranger", "unsure"], ids=["someone else", "an address that is not verified"]
)
async def test_a_link_lets_in_only_whom_it_is_for(
    other: Other, browser: Browser, name: str
) -> None:
    link = await invited(other, "unsure@acme.example")
    page = await accept(other, browser, link, name)
    assert (page.status, "Ask an admin" in page.text) == (403, True)
    assert await users(other) == []
    assert await other.realm.central.value("SELECT count(*) FROM identities") == 0
    page = await browser.get(link)
    page = await browser.submit(
        page, "invitation", token=page.field("token"), full_name="Una", password=PASSWORD
    )
    assert INSIDE in page.text, "the invitation is as good as before"


async def test_an_invitation_that_ends_while_they_are_there_lets_nobody_in(
    other: Other, browser: Browser
) -> None:
    back = await leave(other, browser, await browser.get(await invited(other)), "ann")
    await other.realm.past("invitations")
    assert (await browser.get(back)).status == 403
    assert await users(other) == []


async def test_a_tenant_that_leaves_while_they_are_there_lets_nobody_in(
    other: Other, browser: Browser
) -> None:
    realm = other.realm
    back = await leave(other, browser, await browser.get(await invited(other)), "ann")
    await realm.central.platform.made(f"/v1/tenants/{realm.tenant.id}/offboard", reason="left")
    await realm.central.until(realm.tenant.id, "tenant.offboarded")
    assert (await browser.get(back)).status == 403
    assert await users(other) == []


async def test_an_issuer_that_is_trusted_no_more_is_not_offered_and_lets_nobody_in(
    other: Other, browser: Browser
) -> None:
    link = await invited(other)
    back = await leave(other, browser, await browser.get(link), "ann")
    await other.realm.tenant.admin.made(f"/v1/providers/{other.provider}/disable")
    assert (await browser.get(back)).status == 400
    assert "Continue with" not in (await browser.get(link)).text
    assert await users(other) == []


async def test_of_all_who_come_back_at_once_each_is_the_same_person(other: Other) -> None:
    """Two windows, one person: none is told that nobody knows them."""
    link = await invited(other)
    browsers = [Browser(other.realm.central, "acme") for _ in range(4)]
    backs = [await leave(other, each, await each.get(link), "ann") for each in browsers]
    pages = await asyncio.gather(
        *(each.get(back) for each, back in zip(browsers, backs, strict=True))
    )
    assert [page.status for page in pages] == [200] * 4
    assert len(await users(other)) == 1
    assert await other.realm.central.value("SELECT count(*) FROM identities") == 1
    for each in browsers:
        await each.client.aclose()
