"""The origin on which people sign in: no script, nothing from elsewhere, no address but its own."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Request, Route
from starlette.routing import BaseRoute

from penstock.central import app, routers

from .plane import Answer, Central
from .realm_stage import Realm
from .test_pages import chromium, person, photograph

pytestmark = pytest.mark.anyio
__all__ = ["chromium"]  # a fixture

EVIL = "evil.example"
FORGED = {
    "Host": EVIL, "X-Forwarded-Host": EVIL, "Forwarded": f"host={EVIL};proto=http",
    "X-Forwarded-Proto": "http", "Accept": "text/html",
}  # fmt: skip
LOADS = re.compile(r"""(?:src|href|action|data|poster)\s*=\s*["']?\s*([^"'\s>]+)""", re.IGNORECASE)
SCRIPTED = re.compile(
    r"<script|\son\w+\s*=|javascript:|style\s*=|<iframe|<object|<embed", re.IGNORECASE
)


def paths() -> list[str]:
    """Every path of the API and of realms, with something for each name in it."""
    routes: list[BaseRoute] = [route for router in routers.ROUTERS for route in router.routes]
    found = {str(getattr(route, "path", "")) for route in (*routes, *app.create().router.routes)}
    found -= app.DOORS.streams | {""}
    assert len(found) > 100
    return sorted(re.sub(r"\{[^}]+\}", "acme", path) for path in found)


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


def said(answer: Answer) -> str:
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    return f"{headers}\n\n{answer.raw.decode(errors='replace')}"


async def test_no_answer_has_an_address_that_the_request_made_up(
    central: Central, realm: Realm
) -> None:
    for api in (central.platform, central.caller(None)):
        for path in paths():
            for asked in (path, f"{path}/", f"{path}?next=//{EVIL.upper()}"):
                answer = await api.send("GET", asked, headers=FORGED)
                assert EVIL not in said(answer), asked
                assert not answer.headers.get("location", "").startswith(("http", "//")), asked


async def test_a_slash_too_many_is_not_found_and_redirects_nowhere(central: Central) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await central.platform.send(method, "/v1/projects/", headers=FORGED)
        assert (answer.status, answer.code) == (404, "not_found")
        assert "location" not in answer.headers
        assert answer.json["suggestion"] == "leave out the slash at the end"
    metrics = f"http://{central.settings.metrics_listen}"
    for path in ("/metrics/", "/healthz/", "/readyz/"):
        answer = await central.platform.send("GET", f"{metrics}{path}", headers=FORGED)
        assert (answer.status, EVIL in said(answer)) == (404, False)


@pytest.mark.parametrize("host", ["[", "]:x", "a/b?c#d", "a@b", "\\", "a b", ""])
async def test_a_host_that_is_none_changes_nothing(central: Central, host: str) -> None:
    """Nothing is read from an address that is made with it."""
    for path, status in (("/v1/me", 200), ("/v1/nothing", 404), ("/v1/allocations/alloc_x", 404)):
        answer = await central.platform.send("GET", path, headers={"Host": host})
        assert answer.status == status


def references(page: str) -> Iterator[str]:
    for found in LOADS.finditer(page):
        yield found[1]


async def test_every_page_is_without_scripts_and_forbids_all_that_is_not_its_own(
    central: Central, realm: Realm
) -> None:
    pages = 0
    for path in [*paths(), "/redoc", "/docs/oauth2-redirect"]:
        answer = await central.caller(None).send("GET", path, headers={"Accept": "text/html"})
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; "), path
        assert not re.search(r"script-src|unsafe|https?:|\*|connect-src|frame-src", policy), path
        assert "frame-ancestors 'none'" in policy, path
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        pages += 1
        page = answer.raw.decode()
        assert not SCRIPTED.search(page), path
        for reference in references(page):
            assert re.match(r"(/(?!/)|#|data:image/)", reference), f"{path}: {reference}"
    assert pages >= 5


async def test_the_documentation_tells_of_every_operation_and_shape(central: Central) -> None:
    page = (await central.caller(None).get("/docs")).raw.decode()
    described = app.create().openapi()
    for path, operations in described["paths"].items():
        for method in operations:
            assert f'id="{method.upper()}{path}"' in page
    for name in described["components"]["schemas"]:
        assert f'id="{name}"' in page
    for target in references(page):
        assert not target.startswith("#") or f'id="{target[1:]}"' in page, target


async def test_the_documentation_is_readable_in_a_browser_and_asks_nobody_else(
    central: Central, chromium: Browser
) -> None:
    asked: list[str] = []

    async def note(route: Route, request: Request) -> None:
        asked.append(request.url)
        await route.continue_()

    here = f"http://{central.settings.http_listen}"
    async with person(chromium) as page:
        await page.route("**/*", note)
        await page.goto(f"{here}/docs")
        await photograph(page, "documentation")
        await page.get_by_role("link", name="quotas").click()
        await page.get_by_text("/v1/allocations", exact=True).first.click()
        await page.get_by_role("heading", name="Body").first.wait_for()
        await page.get_by_role("link", name="NewAllocation").first.click()
        assert page.url == f"{here}/docs#NewAllocation"
        shown = page.locator("section", has=page.locator("#NewAllocation"))
        await shown.get_by_text("Wait no longer than that.").wait_for()
        await photograph(page, "documentation-shape")
        position = await page.evaluate("getComputedStyle(document.querySelector('nav')).position")
        assert position == "sticky", "its style is in force"
    assert {url.split("#")[0] for url in asked} <= {
        f"{here}/docs", f"{here}/docs/style.css", f"{here}/favicon.ico",
    }  # fmt: skip
