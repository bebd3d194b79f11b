"""`penstock up` is ready with what is there: one node that is not must not keep the others."""

import asyncio
from pathlib import Path

import pytest

from penstock.local import fleet
from penstock.local.pump import EventPump
from penstock_client.api import Client
from penstock_contracts import wire_pb2 as wire

from .plane import TOKEN, Central
from .stand_in_site import Node, StandInSite

pytestmark = pytest.mark.anyio

WHY = "its link does not hold: a sequence number is out of range"


async def test_a_node_whose_link_does_not_hold_is_left_behind_by_name(
    central: Central, site: StandInSite, tmp_path: Path
) -> None:
    """It comes and goes all the while, so there is always something new to look at."""
    (good,) = site.nodes.values()
    bad = await site.add(Node("bad"))
    api = f"http://{central.settings.http_listen}"
    client = Client(api, TOKEN)
    pump = EventPump(Client(api, TOKEN), tmp_path / "events-seen")
    pump.start()

    async def flap() -> None:
        while True:
            for reason in (WHY, f"{WHY}, again"):
                gone = wire.NodePresence(node_id=bad.id, connected=False, reason=reason)
                await site.report(wire.SiteReport(presence=gone))

    flapping = asyncio.create_task(flap())
    try:
        await central.until(bad.id, "node.disconnected")
        async with asyncio.timeout(30):
            missing = await fleet.until_ready(
                client, pump, site.id, [good.name, bad.name, "absent"],
                progress=lambda _ready: None, overdue=lambda _line: None, patience_s=1.0,
            )  # fmt: skip
    finally:
        flapping.cancel()
        await asyncio.gather(flapping, return_exceptions=True)
        pump.stop()
    assert missing.keys() == {bad.name, "absent"}
    assert missing[bad.name].startswith(WHY)
    assert "has not joined" in fleet.describe(missing)
    assert WHY in fleet.describe(missing, 1)
