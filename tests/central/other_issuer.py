"""Another issuer, as an organization would have one: node's oidc-provider."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx2

from penstock.local import ports

from .plane import Central
from .realm_stage import Browser, Page, Realm

FOLDER = Path(__file__).parent / "issuer"


@dataclass(frozen=True)
class Other:
    realm: Realm
    url: str
    provider: str


@asynccontextmanager
async def running(port: int, callback: str) -> AsyncGenerator[None, None]:
    assert (FOLDER / "node_modules").is_dir(), "run tools/system.sh: it installs what this needs"
    program = await asyncio.create_subprocess_exec(
        "node", str(FOLDER / "issuer.mjs"), str(port), callback,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert program.stdout is not None
        async with asyncio.timeout(30):
            assert await program.stdout.readline() == b"ready\n"
        yield
    finally:
        program.kill()
        await program.wait()


@asynccontextmanager
async def trusted(central: Central) -> AsyncGenerator[Other, None]:
    realm = Realm(central, await central.tenant("acme"), "acme")
    port = ports.pick([])
    url = f"http://127.0.0.1:{port}"
    async with running(port, f"{realm.issuer}/provider/callback"):
        made = await central.platform.made(
            "/v1/providers", tenant=realm.tenant.id, name="corporate", issuer=url,
            client_id="penstock", client_secret="penstock-secret",
        )  # fmt: skip
        yield Other(realm, url, made["id"])


async def vouched(other: Other, browser: Browser, name: str, start: str) -> str:
    """Someone signs in at the other issuer; the address that it sends them back to."""
    async with httpx2.AsyncClient(timeout=20.0, trust_env=False) as elsewhere:
        response = await elsewhere.get(start)
        for _ in range(20):
            location = response.headers.get("location", "")
            if location.startswith(other.realm.issuer):
                return location
            if location:
                response = await elsewhere.get(urljoin(str(response.url), location))
                continue
            prompt = re.search(r'name="prompt" value="(\w+)"', response.text)
            action = re.search(r'action="([^"]+)"', response.text)
            assert prompt, response.text
            assert action, response.text
            form = {"prompt": prompt.group(1), "login": name, "password": "x"}
            response = await elsewhere.post(urljoin(str(response.url), action.group(1)), data=form)
    raise AssertionError("the other issuer never came to an end")


async def sign_in(other: Other, browser: Browser, name: str) -> Page:
    page = await browser.get("login")
    assert "Continue with corporate" in page.text
    leaving = await browser.get(f"provider/{other.provider}")
    assert leaving.location.startswith(other.url)
    return await browser.get(await vouched(other, browser, name, leaving.location))
