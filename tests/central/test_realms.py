"""The flows of a realm, end to end over HTTP."""

import pytest

from .plane import Central
from .realm_stage import Realm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


async def test_smoke(realm: Realm) -> None:
    browser = await realm.join("ann@acme.example", "admin")
    client = await realm.client()
    tokens = await realm.tokens(browser, client)
    me = await realm.api(tokens).get("/v1/me")
    assert me.status == 200, me.raw
    print(me.json, tokens)
    device = await realm.device(browser)
    me = await realm.api(device).get("/v1/users")
    assert me.status == 200, me.raw
    print(me.json)
    print((await realm.api(device).get("/v1/sessions")).json)
