"""The pages in Chromium, as people use them: by label and by keyboard, with no script of ours."""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

from penstock.central.realms.users import totp

from .plane import Central
from .realm_stage import CLI, PASSWORD, Pkce, Realm

pytestmark = pytest.mark.anyio
ANN = "ann@acme.example"
SCREENSHOTS = os.environ.get("PENSTOCK_SCREENSHOTS")  # a folder, for those who want to look


@pytest.fixture
async def chromium() -> AsyncGenerator[Browser, None]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield browser
        await browser.close()


@asynccontextmanager
async def person(chromium: Browser, **options: object) -> AsyncGenerator[Page, None]:
    """A page of a new browser, in which nothing may complain."""
    context: BrowserContext = await chromium.new_context(**options)  # pyright: ignore[reportArgumentType] passed on as it is
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # Chromium reports our own 4xx answers too; those are meant.
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            complaints.append(message.text)

    context.on("console", hear)
    page = await context.new_page()
    yield page
    assert complaints == []
    await context.close()


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[str, "asyncio.Future[str]"], None]:
    """A program on this machine that waits for its code."""
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode()
        if "/callback" in line and not heard.done():
            heard.set_result(line)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"http://127.0.0.1:{port}/callback", heard


async def photograph(page: Page, name: str) -> None:
    if SCREENSHOTS:
        await page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


async def fill(page: Page, **labels: str) -> None:
    for label, value in labels.items():
        await page.get_by_label(label.replace("_", " ")).fill(value)
    await page.keyboard.press("Enter")


async def join(page: Page, realm: Realm) -> None:
    made = await realm.tenant.admin.made("/v1/users/invite", email=ANN, role="admin")
    await page.goto(made["url"])
    await photograph(page, "invitation")
    await fill(page, Your_name="Ann", Choose_a_password=PASSWORD)
    await page.get_by_role("heading", name="Ann").wait_for()


async def test_from_invitation_to_second_factor_to_a_program_of_ones_own(
    central: Central, chromium: Browser
) -> None:
    realm = Realm(central, await central.tenant("acme"), "acme")
    async with person(chromium) as page:
        await join(page, realm)
        await photograph(page, "account")
        await page.get_by_role("link", name="Set it up").click()
        await page.get_by_alt_text("QR code").wait_for()
        assert await page.get_by_alt_text("QR code").evaluate("image => image.naturalWidth") > 0
        await photograph(page, "second-factor")
        shown = await page.locator("code").inner_text()
        secret = totp.from_shown(shown)
        await fill(page, Six_digits=totp.code_at(secret, int(time.time()) - totp.STEP_S))
        await page.get_by_text("On: you are asked for a code").wait_for()
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="You are signed out").wait_for()
        await photograph(page, "signed-out")
    async with person(chromium) as page, listening() as (callback, heard):
        await page.goto(realm.authorize_url(CLI, Pkce(), redirect_uri=callback))
        await photograph(page, "login")
        await fill(page, Email=ANN, Password="wrong password")
        await page.get_by_role("alert").wait_for()
        await photograph(page, "login-wrong")
        assert await page.get_by_label("Email").input_value() == ANN
        await fill(page, Password=PASSWORD)
        await page.get_by_role("heading", name="Enter your code").wait_for()
        await photograph(page, "code")
        await fill(page, Six_digits=totp.code_at(secret, int(time.time())))
        await page.get_by_role("heading", name="Let Penstock command line in?").wait_for()
        await photograph(page, "consent")
        # The form leads to another origin, which the page's own policy has to allow.
        await page.get_by_role("button", name="Allow").click()
        async with asyncio.timeout(10):
            line = await heard
        assert re.search(r"code=\w+", line)
        assert await page.inner_text("body") == "done"


async def test_a_code_from_a_terminal_on_a_telephone_in_the_dark(
    central: Central, chromium: Browser
) -> None:
    realm = Realm(central, await central.tenant("acme"), "acme")
    small = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
    async with person(chromium, **small) as page:
        await join(page, realm)
        started = (await realm.post("device_authorization", client_id=CLI)).json()
        await page.goto(started["verification_uri"])
        await photograph(page, "device-code")
        await fill(page, Code="WRONGONE")
        await page.get_by_role("alert").wait_for()
        await fill(page, Code=started["user_code"].replace("-", "").lower())
        await page.get_by_role("heading", name="Let Penstock command line in?").wait_for()
        assert await page.get_by_text(started["user_code"]).is_visible()
        await photograph(page, "device-confirm")
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, "nothing sticks out"
        await page.get_by_role("button", name="Allow").click()
        await page.get_by_role("heading", name="You are signed in").wait_for()
        await photograph(page, "device-done")
        assert (await realm.poll(started)).status_code == 200
        await page.goto(f"{realm.issuer}/account")
        await photograph(page, "account-small")
        assert await page.get_by_text("penstock-cli").is_visible()
        assert await page.get_by_text("Chrome on Linux").is_visible()
