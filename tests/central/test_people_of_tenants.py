"""A tenant's status holds for everyone, however they prove who they are: with a token of its
realm, as a client of it, or with a personal key."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from .plane import Api, Central, Json
from .realm_stage import Browser, Realm
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class People:
    realm: Realm
    browser: Browser
    callers: dict[str, Api]

    @property
    def lease(self) -> Json:
        return {"project": self.realm.tenant.project, "sku": "h100.slice", "gpus": 1}

    @property
    def person(self) -> Api:
        return self.callers["token"]

    async def say(self, verb: str) -> None:
        path = f"/v1/tenants/{self.realm.tenant.id}/{verb}"
        await self.realm.central.platform.made(path, reason="because")

    async def leave(self) -> None:
        await self.say("offboard")
        await self.realm.central.until(self.realm.tenant.id, "tenant.offboarded")


@pytest.fixture
async def people(central: Central) -> AsyncGenerator[People, None]:
    realm = Realm(central, await central.tenant("acme"), "acme")
    browser = await realm.join("ann@acme.example", "admin")
    person = realm.api(await realm.device(browser))
    key = await person.made("/v1/keys", name="k", scopes=["use"], days=1)
    client = await realm.client(
        name="robot", redirect_uris=[], grants=["client_credentials"], scopes=["use"], role="member"
    )
    answer = await realm.post(
        "token", (client["id"], client["secret"]), grant_type="client_credentials", scope="use"
    )
    assert answer.status_code == 200, answer.text
    callers = {
        "token": person,
        "client": realm.api(answer.json()),
        "personal key": central.caller(key["token"]),
    }
    yield People(realm, browser, callers)
    await browser.client.aclose()


async def test_while_it_is_suspended_nobody_leases_and_all_see_and_release(
    people: People, site: StandInSite
) -> None:
    held = {name: await api.made("/v1/allocations", **people.lease)
            for name, api in people.callers.items()}  # fmt: skip
    await people.say("suspend")
    for name, api in people.callers.items():
        refused = await api.post("/v1/allocations", **people.lease)
        assert (refused.status, refused.code) == (403, "tenant_suspended"), name
        seen = await api.get(f"/v1/allocations/{held[name]['id']}")
        assert seen.status == 200, name
        released = await api.post(f"/v1/allocations/{held[name]['id']}/release")
        assert released.status == 202, name
    await people.say("resume")
    for name, api in people.callers.items():
        assert (await api.post("/v1/allocations", **people.lease)).status == 201, name


async def test_a_new_sign_in_is_no_way_around_a_suspension(
    people: People, site: StandInSite
) -> None:
    await people.say("suspend")
    fresh = people.realm.api(await people.realm.device(people.browser))
    refused = await fresh.post("/v1/allocations", **people.lease)
    assert (refused.status, refused.code) == (403, "tenant_suspended")
    key = await fresh.made("/v1/keys", name="new", scopes=["use"], days=1)
    refused = await people.realm.central.caller(key["token"]).post(
        "/v1/allocations", **people.lease
    )
    assert (refused.status, refused.code) == (403, "tenant_suspended")


async def test_who_is_gone_is_read_by_its_people_and_changed_by_nobody(people: People) -> None:
    ann = await people.realm.user("ann@acme.example")
    await people.realm.join("bob@acme.example")
    bob = (await people.realm.user("bob@acme.example"))["id"]
    await people.leave()
    assert (await people.person.get("/v1/usage")).status == 200
    assert (await people.person.get(f"/v1/users/{ann['id']}")).status == 200
    for path, body in (
        ("/v1/keys", {"name": "new", "scopes": ["read"], "days": 1}),
        ("/v1/users/invite", {"email": "new@acme.example"}),
        (f"/v1/users/{bob}/enable", {}),
        (f"/v1/users/{bob}/reset", {"second_factor": False}),
        ("/v1/clients", {"name": "new"}),
        ("/v1/projects", {"name": "new"}),
    ):
        refused = await people.person.post(path, **body)
        assert (refused.status, refused.code) == (403, "tenant_offboarded"), path
    shut_out = await people.person.post(f"/v1/users/{bob}/disable")
    assert shut_out.status == 200, "whoever should be out can still be shut out"


async def test_nobody_comes_to_who_is_gone(people: People) -> None:
    made = await people.person.made("/v1/users/invite", email="late@acme.example")
    late = Browser(people.realm.central, "acme")
    assert (await late.get(made["url"])).status == 200
    await people.leave()
    assert (await late.get(made["url"])).status == 404
    users = (await people.person.get("/v1/users")).items
    assert [user["email"] for user in users] == ["ann@acme.example"]
    await late.client.aclose()
