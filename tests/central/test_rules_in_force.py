"""Rules in force: read at the start, read again on a hangup; a broken file changes nothing."""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import orjson
import pytest

from penstock.central.access.in_force import IN_FORCE
from penstock.central.realms.users import totp
from penstock.central.settings import CentralSettings

from . import plane
from .plane import TOKEN, Api, Json
from .realm_stage import Browser, Realm
from .test_rules import BROKEN

pytestmark = pytest.mark.anyio

FROZEN: Final = '@id("frozen")\nforbid (principal, action == Penstock::Action::"{}", resource);\n'
SECOND: Final = """
@id("inviting-needs-a-second-factor")
forbid (principal, action in [Penstock::Action::"user.invite"], resource)
when { principal.kind == "user" && !principal.second_factor };
"""
OWN: Final = """
@id("what-is-there-stays")
forbid (principal, action in Penstock::Action::"own.end", resource);
"""
ANN: Final = "ann@acme.example"


@dataclass
class Program:
    """A central in a process of its own, which tells what it does on stderr."""

    process: asyncio.subprocess.Process
    lines: AsyncIterator[Json]

    async def told(self, *events: str) -> Json:
        async with asyncio.timeout(60):
            async for line in self.lines:
                if line.get("event") in events:
                    return line
        raise AssertionError(f"it ended without telling {events}")

    async def hang_up(self) -> Json:
        """What it says of the file, having read it again."""
        self.process.send_signal(signal.SIGHUP)
        return await self.told("policies read again", "the old policies stay in force")


def environment(settings: CentralSettings) -> dict[str, str]:
    chosen = settings.model_dump(exclude_defaults=True)
    return {f"PENSTOCK_CENTRAL_{name.upper()}": str(value) for name, value in chosen.items()}


async def started(settings: CentralSettings) -> Program:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "penstock.central",
        env={**os.environ, **environment(settings)},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None

    async def lines(stream: asyncio.StreamReader) -> AsyncIterator[Json]:
        async for line in stream:
            yield orjson.loads(line) if line.startswith(b"{") else {"text": line.decode()}

    return Program(process, lines(process.stderr))


@asynccontextmanager
async def serving(settings: CentralSettings) -> AsyncGenerator[tuple[Program, Api], None]:
    program = await started(settings)
    base = f"http://{settings.http_listen}"
    try:
        await program.told("ready")
        async with httpx2.AsyncClient(base_url=base, timeout=20, trust_env=False) as client:
            yield program, Api(client, TOKEN)
        program.process.terminate()
        assert await asyncio.wait_for(program.process.wait(), 20) == 0
    finally:
        if program.process.returncode is None:
            program.process.kill()
            await program.process.wait()


async def outdated(platform: Api) -> list[Json]:
    items = (await platform.get("/v1/invariants")).items
    (found,) = (item for item in items if item["name"] == "policies_current")
    assert found["violations"] == len(found["found"])
    return found["found"]


async def reloads(platform: Api) -> dict[str, float]:
    shown = (await platform.get("/metrics")).raw.decode()
    counted = re.findall(r'penstock_policies_reloads_total\{outcome="(\w+)"\} (\S+)', shown)
    return {outcome: float(count) for outcome, count in counted}


@pytest.mark.parametrize("kind", ["cut off", "a permit", "no name", "binary", "too large"])
async def test_central_does_not_start_with_a_broken_file(tmp_path: Path, kind: str) -> None:
    content, words = BROKEN[kind]
    (tmp_path / "rules").write_bytes(content)
    await refuses_to_start(tmp_path, "rules", words)


@pytest.mark.parametrize("name", ["none", ""])
async def test_central_does_not_start_without_the_file(tmp_path: Path, name: str) -> None:
    await refuses_to_start(tmp_path, name, "it is not a file" if not name else "no such file")


async def refuses_to_start(folder: Path, name: str, words: str) -> None:
    settings = plane.settings("postgres://nowhere", folder / "central", policies=folder / name)
    program = await started(settings)
    said = [line async for line in program.lines]
    assert await program.process.wait() == 2
    (line,) = said
    assert line["text"].startswith(f"penstock: the policies in {folder / name} cannot be used: ")
    assert words in line["text"]


async def test_a_reload_counts_at_once_and_a_broken_file_changes_nothing(
    central_url: str, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.cedar"
    rules.write_text("// none yet\n")
    settings = plane.settings(central_url, tmp_path / "central", policies=rules)
    async with serving(settings) as (program, platform):
        asked = {"action": "tenant.create"}
        first = (await platform.get("/v1/access/explain", **asked)).json
        assert first["allowed"]
        assert (await platform.post("/v1/tenants", name="one")).status == 201
        assert await outdated(platform) == []

        rules.write_text(FROZEN.format("tenant.create"))
        (changed,) = await outdated(platform)
        assert "send SIGHUP" in changed["fault"]
        assert (await program.hang_up())["event"] == "policies read again"
        refused = await platform.post("/v1/tenants", name="two")
        assert (refused.status, refused.code) == (403, "forbidden")
        assert refused.json["detail"] == "policy 'frozen' forbids tenant.create"
        assert refused.json["suggestion"] == "`penstock access explain tenant.create`"
        ruled = (await platform.get("/v1/access/explain", **asked)).json
        assert (ruled["allowed"], ruled["policies"]) == (False, ["frozen"])
        assert ruled["revision"] != first["revision"]
        assert await outdated(platform) == []

        for content in ("permit (", '@id("a") permit (principal, action, resource);'):
            rules.write_text(content)
            told = await program.hang_up()
            assert (told["event"], told["level"]) == ("the old policies stay in force", "error")
            assert str(rules) in told["reason"]
            assert (await platform.post("/v1/tenants", name="two")).status == 403
            (fault,) = await outdated(platform)
            assert fault["fault"] == told["reason"]
            assert fault["revision"] == ruled["revision"]
        rules.unlink()
        await program.hang_up()
        assert (await platform.post("/v1/tenants", name="two")).status == 403
        assert "no such file" in (await outdated(platform))[0]["fault"]

        rules.write_text(FROZEN.format("tenant.suspend"))
        await program.hang_up()
        assert (await platform.post("/v1/tenants", name="two")).status == 201
        assert await outdated(platform) == []
        assert await reloads(platform) == {"accepted": 2, "refused": 3}
        metrics = (await platform.get("/metrics")).raw.decode()
        now = (await platform.get("/v1/access/explain", **asked)).json["revision"]
        assert f'penstock_policies_info{{revision="{now}"}} 1.0' in metrics


async def test_a_hangup_without_a_file_ends_nothing(central_url: str, tmp_path: Path) -> None:
    settings = plane.settings(central_url, tmp_path / "central")
    async with serving(settings) as (program, platform):
        assert (await program.hang_up())["event"] == "policies read again"
        assert (await platform.get("/v1/me")).status == 200
        assert await outdated(platform) == []


@pytest.fixture
async def realm(central_url: str, tmp_path: Path) -> AsyncGenerator[Realm, None]:
    """Of a central whose operator wants a second factor for invitations."""
    rules = tmp_path / "rules.cedar"
    rules.write_text(SECOND)
    try:
        async with plane.running(central_url, tmp_path / "central", policies=rules) as central:
            yield Realm(central, await central.tenant("acme"), "acme")
    finally:
        await IN_FORCE.begin(None)


async def enrol(browser: Browser) -> bytes:
    """Set up a second factor, as an authenticator would."""
    page = await browser.get("account/second-factor")
    found = re.search(r"<code>([A-Z2-7]+)</code>", page.text)
    assert found
    secret = totp.from_shown(found.group(1))
    code = totp.code_at(secret, int(time.time()) - totp.STEP_S)
    await browser.submit(page, "account/second-factor", ticket=page.field("ticket"), code=code)
    return secret


async def test_a_rule_asks_people_for_a_second_factor(realm: Realm) -> None:
    browser = await realm.join(ANN, "admin")  # invited with a key, which has no factors
    ann = realm.api(await realm.device(browser))
    refused = await ann.post("/v1/users/invite", email="bob@acme.example")
    assert refused.status == 403
    assert refused.json["detail"] == ("policy 'inviting-needs-a-second-factor' forbids user.invite")
    told = (await ann.get("/v1/access/explain", action="user.invite")).json
    assert told["policies"] == ["inviting-needs-a-second-factor"]
    assert (await ann.get("/v1/users")).status == 200

    secret = await enrol(browser)
    again = Browser(realm.central, "acme")
    page = await again.log_in(ANN)
    code = totp.code_at(secret, int(time.time()))
    await again.submit(page, "login/code", ticket=page.field("ticket"), code=code)
    proven = realm.api(await realm.device(again))
    assert (await proven.get("/v1/access/explain", action="user.invite")).json["allowed"]
    assert (await proven.post("/v1/users/invite", email="bob@acme.example")).status == 201
    assert (await ann.post("/v1/users/invite", email="eve@acme.example")).status == 403
    for each in (browser, again):
        await each.client.aclose()


async def test_a_rule_binds_people_in_what_is_their_own(central_url: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.cedar"
    rules.write_text(OWN)
    try:
        async with plane.running(central_url, tmp_path / "central", policies=rules) as central:
            realm = Realm(central, await central.tenant("acme"), "acme")
            browser = await realm.join(ANN)
            ann = realm.api(await realm.device(browser))
            key = await ann.made("/v1/keys", name="mine", days=1)
            sessions = (await ann.get("/v1/sessions")).items
            for path in (f"sessions/{sessions[0]['id']}", f"keys/{key['id']}"):
                refused = await ann.post(f"/v1/{path}/revoke")
                assert refused.status == 403, path
                assert "policy 'what-is-there-stays' forbids" in refused.json["detail"]
            client = next(session for session in sessions if session["kind"] == "client")
            page = await browser.get("account")
            said = await browser.submit(page, "account/sessions/end", session=client["id"])
            assert "what-is-there-stays" in said.text
            assert (await ann.get("/v1/me")).status == 200
            await browser.client.aclose()
    finally:
        await IN_FORCE.begin(None)
