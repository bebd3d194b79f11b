"""This machine's nodes, as central sees them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.local.pump import EventPump
from penstock_client.api import Client
from penstock_client.views.events import Event
from penstock_client.views.fleet import Node

QUIET_S: Final = 10.0  # with no event for this long, look anyway and say what is missing
SPACING_S: Final = 0.1


@dataclass(frozen=True)
class Count:
    nodes: int
    nodes_connected: int
    gpus: int
    gpus_free: int


def count(nodes: Sequence[Node]) -> Count:
    connected = [node for node in nodes if node["connected"]]
    return Count(
        nodes=len(nodes),
        nodes_connected=len(connected),
        gpus=sum(node["gpus"] for node in nodes),
        gpus_free=sum(node["gpus_free"] for node in nodes),
    )


async def nodes_of(client: Client, site: str) -> list[Node]:
    return (await asyncio.to_thread(client.nodes.list, site=site))["items"]


async def until_connected(client: Client, pump: EventPump, site: str) -> None:
    """Return when the site is connected and nodes can join it."""
    queue = pump.subscribe()
    try:
        while True:
            seen = await asyncio.to_thread(client.sites.get, site)
            if seen["connected"] and seen["join_address"]:
                return
            await next_change(queue, QUIET_S)
    finally:
        pump.unsubscribe(queue)


async def until_ready(
    client: Client,
    pump: EventPump,
    site: str,
    names: Sequence[str],
    progress: Callable[[int], None],
    overdue: Callable[[str], None],
) -> None:
    """Return when every named node is connected and can be scheduled."""
    queue = pump.subscribe()
    try:
        while missing := _missing(await nodes_of(client, site), names):
            progress(len(names) - len(missing))
            if not await next_change(queue, QUIET_S):
                overdue(_describe(missing))
    finally:
        pump.unsubscribe(queue)


async def next_change(queue: "asyncio.Queue[Event]", timeout_s: float | None) -> bool:
    """Wait for an event, take all that came with it; False if none came in time."""
    try:
        async with asyncio.timeout(timeout_s):
            await queue.get()
            await asyncio.sleep(SPACING_S)  # many nodes join at once; look once for all of them
    except TimeoutError:
        return False
    while not queue.empty():
        queue.get_nowait()
    return True


def _missing(nodes: Sequence[Node], names: Sequence[str]) -> dict[str, str]:
    """The named nodes that cannot be scheduled, each with why."""
    known = {node["name"]: _why_not(node) for node in nodes}
    whys = {name: known.get(name, "has not joined") for name in names}
    return {name: why for name, why in whys.items() if why}


def _why_not(node: Node) -> str:
    if not node["connected"]:
        return "is not connected"
    if node["posture"] == "unavailable":
        return node["posture_reason"] or "has no approved slots"
    return ""


def _describe(missing: dict[str, str]) -> str:
    name, why = next(iter(missing.items()))
    others = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"still waiting for {name} ({why}){others}"
