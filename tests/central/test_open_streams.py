"""A stream that is open is no way around what was taken from its reader since."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedError

from penstock.central import doors

from .plane import Api, Central, Tenant
from .stand_in_site import StandInSite
from .test_events import Stream, StreamEnded, events, live, messages, socket

pytestmark = pytest.mark.anyio
Take = Callable[[], Awaitable[object]]
Reader = Callable[[Central, Tenant], Awaitable[tuple[Api, Take]]]


@pytest.fixture(autouse=True)
def asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for the seconds for which an answer counts."""
    monkeypatch.setattr(doors, "BELIEVED_S", 0.0)


async def with_a_key(central: Central, tenant: Tenant) -> tuple[Api, Take]:
    path = f"/v1/tenants/{tenant.id}/keys"
    key = await central.platform.made(path, name="reader", role="viewer")
    return central.caller(key["token"]), lambda: tenant.admin.made(f"/v1/keys/{key['id']}/revoke")


async def with_a_binding(central: Central, tenant: Tenant) -> tuple[Api, Take]:
    account = await tenant.admin.made("/v1/service-accounts", name="reader")
    key = await tenant.admin.made(f"/v1/service-accounts/{account['id']}/keys", name="one")
    binding = await tenant.admin.made(
        "/v1/role-bindings", subject=account["id"], role="viewer", tenant=tenant.id
    )
    path = f"/v1/role-bindings/{binding['id']}"
    return central.caller(key["token"]), lambda: tenant.admin.delete(path)


async def rest_of_stream(stream: Stream) -> list[str]:
    """What else is told, until the end: of which things."""
    subjects: list[str] = []
    with suppress(StreamEnded):
        while True:
            subjects.append((await stream.next())[1]["subject"])
    return subjects


async def rest_of_socket(connection: ClientConnection) -> list[str]:
    subjects: list[str] = []
    with suppress(ConnectionClosedError):
        async with asyncio.timeout(10):
            while True:
                subjects.append(orjson.loads(await connection.recv())["subject"])
    return subjects


TAKEN = pytest.mark.parametrize(
    ("reader", "status"), [(with_a_key, 401), (with_a_binding, 403)], ids=["key", "role"]
)


@TAKEN
async def test_a_stream_ends_when_its_reader_may_not_read_any_more(
    central: Central, site: StandInSite, tenant: Tenant, reader: Reader, status: int
) -> None:
    api, take = await reader(central, tenant)
    async with events(api) as stream:
        before = await live(site, tenant)
        heard = [envelope["subject"] for _, envelope in await stream.until("allocation.observed")]
        assert before in heard
        await take()
        after = await live(site, tenant)
        assert after not in await rest_of_stream(stream)
    assert (await api.get("/v1/events")).status == status


@TAKEN
async def test_a_socket_is_closed_with_the_reason_when_its_reader_may_not_read_any_more(
    central: Central, site: StandInSite, tenant: Tenant, reader: Reader, status: int
) -> None:
    api, take = await reader(central, tenant)
    async with socket(central, api) as connection:
        await live(site, tenant)
        await messages(connection, "allocation.observed")
        await take()
        after = await live(site, tenant)
        assert after not in await rest_of_socket(connection)
        assert (connection.close_code, bool(connection.close_reason)) == (4000 + status, True)
