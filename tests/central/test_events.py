"""One ordered log with two doors: the same envelopes, resumed without gap, the tenant's own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from penstock_contracts import wire_pb2 as wire

from .plane import Api, Central, Json, Tenant
from .stand_in_site import StandInSite

pytestmark = pytest.mark.anyio


class StreamEnded(Exception):
    pass


class Stream:
    """A reader of server-sent events."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines: AsyncIterator[str] = response.aiter_lines()

    async def next(self) -> tuple[str, Json]:
        """The next event's id and envelope."""
        id = ""
        async with asyncio.timeout(10):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if name == "id":
                    id = value
                elif name == "data":
                    return id, orjson.loads(value)
        raise StreamEnded

    async def until(self, type: str) -> list[tuple[str, Json]]:
        seen: list[tuple[str, Json]] = []
        while not seen or seen[-1][1]["type"] != type:
            seen.append(await self.next())
        return seen


@asynccontextmanager
async def events(
    api: Api, after: str | None = None, **parameters: str
) -> AsyncGenerator[Stream, None]:
    headers = {**api.headers, **({} if after is None else {"Last-Event-ID": after})}
    async with api.client.stream(
        "GET", "/v1/events", headers=headers, params=parameters or None
    ) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)


def socket(central: Central, api: Api, query: str = "") -> connect:
    url = f"ws://{central.settings.http_listen}/v1/ws{query}"
    return connect(url, additional_headers=api.headers, proxy=None)


async def messages(connection: ClientConnection, until: str) -> list[Json]:
    seen: list[Json] = []
    async with asyncio.timeout(10):
        while not seen or seen[-1]["type"] != until:
            seen.append(orjson.loads(await connection.recv()))
    return seen


async def live(site: StandInSite, tenant: Tenant) -> str:
    """A lease from placement to active."""
    lease = await tenant.member.made("/v1/allocations", project="main", sku="h100.slice", gpus=1)
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE)
    return lease["id"]


async def test_both_doors_show_the_same_envelopes_in_order(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    async with events(tenant.viewer, "0") as stream, socket(
        central, tenant.viewer, "?after=0"
    ) as connection:  # fmt: skip
        await live(site, tenant)
        through_sse = await stream.until("allocation.observed")
        through_ws = await messages(connection, "allocation.observed")
    assert [envelope for _, envelope in through_sse] == through_ws
    sequences = [envelope["sequence"] for envelope in through_ws]
    assert sequences == sorted(set(sequences))
    assert [id for id, _ in through_sse] == [str(sequence) for sequence in sequences]
    assert {envelope["tenantid"] for envelope in through_ws} == {tenant.id}
    for envelope in through_ws:
        assert envelope["specversion"] == "1.0"
        assert {"id", "source", "type", "subject", "time", "data"} <= envelope.keys()


async def test_a_reader_resumes_after_what_it_saw_without_gap_or_repeat(
    site: StandInSite, tenant: Tenant
) -> None:
    async with events(tenant.viewer, "0") as stream:
        await live(site, tenant)
        whole = await stream.until("allocation.observed")
    for cut in range(len(whole)):
        async with events(tenant.viewer, whole[cut][0]) as again:
            rest = [await again.next() for _ in whole[cut + 1 :]]
        assert rest == whole[cut + 1 :]


async def test_without_an_id_a_reader_starts_now_and_hears_what_comes(
    site: StandInSite, tenant: Tenant
) -> None:
    await live(site, tenant)
    async with events(tenant.viewer) as stream:
        second = await live(site, tenant)
        heard = await stream.until("allocation.observed")
    assert {envelope["subject"] for _, envelope in heard} == {second}


async def test_a_subject_filters_both_doors(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    await live(site, tenant)
    second = await live(site, tenant)
    async with events(tenant.viewer, "0", subject=second) as stream:
        heard = await stream.until("allocation.observed")
    assert {envelope["subject"] for _, envelope in heard} == {second}
    query = f"?after=0&subject={second}"
    async with socket(central, tenant.viewer, query) as connection:
        same = await messages(connection, "allocation.observed")
    assert same == [envelope for _, envelope in heard]


async def test_a_tenant_hears_nothing_of_others_and_the_platform_hears_all(
    central: Central, site: StandInSite, tenant: Tenant
) -> None:
    other = await central.tenant("other")
    async with events(other.viewer, "0") as theirs, events(central.platform, "0") as all_of_it:
        mine = await live(site, tenant)
        told = await live(site, other)
        heard = [envelope for _, envelope in await theirs.until("allocation.observed")]
        assert {envelope["tenantid"] for envelope in heard} == {other.id}
        assert mine not in {envelope["subject"] for envelope in heard}
        everything: list[Json] = []
        while not everything or everything[-1]["subject"] != told:
            everything.append((await all_of_it.next())[1])
    subjects = {envelope["subject"] for envelope in everything}
    assert {mine, site.id} <= subjects, "the platform hears of sites and of every tenant"


@pytest.mark.parametrize(
    ("query", "status"), [("?after=x", 422), ("?after=-1", 422), ("?colour=red", 422), ("", 401)]
)
async def test_a_socket_that_is_not_permitted_is_not_opened(
    central: Central, query: str, status: int
) -> None:
    api = central.platform if query else central.caller("nobody's")
    with pytest.raises(InvalidStatus) as refused:
        async with socket(central, api, query):
            pass
    assert refused.value.response.status_code == status
