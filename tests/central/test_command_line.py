"""`penstock login` against a real central and a real person at a browser."""

import asyncio
import json
from pathlib import Path

import pytest

from penstock_client import contexts, main

from .plane import Central
from .realm_stage import Realm

pytestmark = pytest.mark.anyio


async def run(*argv: str) -> int:
    return await asyncio.to_thread(main.run, argv)


async def until_it_waits(central: Central) -> str:
    """The code that the command line shows, once it has asked for one."""
    for _ in range(200):
        code = await central.value("SELECT user_code FROM device_codes WHERE decision IS NULL")
        if code:
            return code
        await asyncio.sleep(0.05)
    raise AssertionError("the command line asked for no code")


async def test_login_commands_and_logout(
    central: Central,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    realm = Realm(central, await central.tenant("acme"), "acme")
    ann = await realm.join("ann@acme.example", "admin")
    login = asyncio.create_task(run("login", "--tenant", "acme", "--api", realm.base))
    code = await until_it_waits(central)
    page = await ann.get("device", user_code=code)
    await ann.submit(page, "device", user_code=page.field("user_code"), decision="allow")
    assert await login == 0
    assert code in capsys.readouterr().err
    assert await run("user", "invite", "bob@acme.example") == 0
    assert capsys.readouterr().out.startswith(f"{realm.issuer}/invitation?token=")
    assert await run("key", "create", "ci", "--scope", "read", "--json") == 0
    key = json.loads(capsys.readouterr().out)
    assert (await central.caller(key["token"]).get("/v1/projects")).status == 200
    assert await run("session", "ls", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["items"]
    assert {item["client"] for item in listed} == {None, "penstock-cli"}
    stolen = contexts.select("acme").token
    assert (await central.caller(stolen).get("/v1/me")).status == 200
    assert await run("logout") == 0
    assert (await central.caller(stolen).get("/v1/me")).status == 401
    await ann.client.aclose()
