"""A stream that cannot go on ends, says why, and is resumed where it ended. Through both doors."""

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from penstock.central import doors
from penstock.kernel.http.sockets import MESSAGE_BYTES_MAX

from . import cutting_proxy, plane
from .plane import Api, Central, Json, Tenant
from .test_events import Stream, StreamEnded, events, messages, socket

pytestmark = pytest.mark.anyio
MADE = "project.created"


@pytest.fixture(autouse=True)
def asked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for the seconds that pass until the log is read without being told to."""
    monkeypatch.setattr(doors, "HEARTBEAT_S", 0.2)


async def end_of_socket(connection: ClientConnection) -> tuple[int | None, str]:
    """How it is closed, whatever it tells before."""
    async with asyncio.timeout(20):
        try:
            while True:
                await connection.recv()
        except ConnectionClosed:
            return connection.close_code, connection.close_reason or ""


async def end_of_stream(stream: Stream) -> None:
    with suppress(StreamEnded):
        while True:
            await stream.next()


async def make_projects(api: Api, *names: str) -> None:
    for name in names:
        await api.made("/v1/projects", name=name)


def names(told: list[Json]) -> list[str]:
    return [envelope["data"]["name"] for envelope in told if envelope["type"] == MADE]


async def test_without_its_database_a_stream_ends_with_a_reason_and_is_resumed_without_gap(
    central_url: str, tmp_path: Path
) -> None:
    async with (
        cutting_proxy.between(central_url) as proxy,
        plane.running(proxy.url, tmp_path / "central") as central,
    ):
        tenant = await central.tenant("acme")
        async with (
            socket(central, tenant.viewer, "?after=0") as connection,
            events(tenant.viewer, "0") as stream,
        ):
            seen = await messages(connection, MADE)
            proxy.leave()
            code, reason = await end_of_socket(connection)
            await end_of_stream(stream)
        assert (code, "the database does not answer" in reason) == (1013, True)
        with pytest.raises(InvalidStatus) as away:
            await socket(central, tenant.viewer)
        assert away.value.response.status_code == 503
        proxy.come_back()
        await make_projects(tenant.admin, "one", "two", "three")
        after = seen[-1]["sequence"]
        async with socket(central, tenant.viewer, f"?after={after}") as connection:
            told = [*await messages(connection, MADE)]
            while len(names(told)) < 3:
                told += await messages(connection, MADE)
        assert names(told) == ["one", "two", "three"]


async def test_a_stream_ends_with_a_reason_when_something_nobody_expected_goes_wrong(
    central: Central, tenant: Tenant
) -> None:
    url = central.settings.database_url
    async with (
        socket(central, tenant.viewer, "?after=0") as connection,
        events(tenant.viewer, "0") as stream,
    ):
        await messages(connection, MADE)
        await plane.as_superuser(url, "ALTER TABLE events RENAME COLUMN data TO lost")
        code, reason = await end_of_socket(connection)
        await end_of_stream(stream)
    await plane.as_superuser(url, "ALTER TABLE events RENAME COLUMN lost TO data")
    assert (code, "something went wrong here" in reason) == (1011, True)


async def test_a_socket_that_cannot_be_opened_is_refused_as_any_request_is(
    central: Central, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = {
        (401, "unauthenticated"): (central.caller("nobody's"), ""),
        (422, "invalid"): (tenant.viewer, "?after=x"),
        (404, "not_found"): (await a_key_without_roles(central, tenant), "?subject=alloc_none"),
    }
    for (status, code), (api, query) in refusals.items():
        with pytest.raises(InvalidStatus) as refused:
            await socket(central, api, query)
        response = refused.value.response
        assert (response.status_code, orjson.loads(response.body)["code"]) == (status, code)
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["x-correlation-id"]
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


async def a_key_without_roles(central: Central, tenant: Tenant) -> Api:
    account = await tenant.admin.made("/v1/service-accounts", name="reader")
    key = await tenant.admin.made(f"/v1/service-accounts/{account['id']}/keys", name="one")
    return central.caller(key["token"])


SAID = {
    "bytes": (b"\x00\x01", 1003),
    "text": ("hello", 1003),
    "too much": ("x" * (MESSAGE_BYTES_MAX + 1), 1009),
    "too many bytes": (b"x" * (MESSAGE_BYTES_MAX + 1), 1009),
    "too much in pieces": (["x" * 1024] * 5, 1009),
}


@pytest.mark.parametrize("said", SAID)
async def test_a_socket_takes_no_messages_and_says_so(
    central: Central, tenant: Tenant, said: str
) -> None:
    message, code = SAID[said]
    async with socket(central, tenant.viewer, "?after=0") as connection:
        await messages(connection, MADE)
        await connection.send(message)
        closed, reason = await end_of_socket(connection)
    assert (closed, bool(reason)) == (code, True)
    assert (await tenant.viewer.get("/v1/me")).status == 200


@pytest.mark.parametrize(
    "after", ["²", "٣", "１", "-1", "+1", "1.0", "1e3", "", str(2**63), "9" * 5000]
)
async def test_an_event_id_is_a_number_that_the_log_can_have(
    central: Central, tenant: Tenant, after: str
) -> None:
    raw = {"Last-Event-ID": after.encode("latin-1" if after == "²" else "utf-8")}
    answer = await tenant.viewer.send("GET", "/v1/events", headers=raw)
    assert (answer.status, answer.code) == (422, "invalid")
    with pytest.raises(InvalidStatus) as refused:
        await socket(central, tenant.viewer, f"?after={quote(after)}")
    assert refused.value.response.status_code == 422
