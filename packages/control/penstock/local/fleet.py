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
PATIENCE_S: Final = 20.0  # if no further node became ready for this long, the rest is left behind
NAMED_MAX: Final = 5


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
    patience_s: float = PATIENCE_S,
) -> dict[str, str]:
    """Return when every named node can be scheduled, or no further one comes to be.

    Those that cannot, each with why: one bad node must not keep the others from being used.
    """
    loop = asyncio.get_running_loop()
    queue = pump.subscribe()
    most, since = 0, loop.time()
    try:
        while missing := _missing(await nodes_of(client, site), names):
            ready = len(names) - len(missing)
            progress(ready)
            if ready > most:
                most, since = ready, loop.time()
            left_s = since + patience_s - loop.time()
            if left_s <= 0:
                break
            if not await next_change(queue, min(QUIET_S, left_s)):
                overdue(f"still waiting for {describe(missing, 1)}")
        return missing
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
    if node["posture"] == "unavailable":
        return node["posture_reason"] or "has no approved slots"
    return "" if node["connected"] else "is not connected"


def describe(missing: dict[str, str], most: int = NAMED_MAX) -> str:
    """The first of them, each with why, and how many more there are."""
    named = [f"{name} ({why})" for name, why in list(missing.items())[:most]]
    more = [f"{len(missing) - most} more"] if len(missing) > most else []
    return ", and ".join([", ".join(named), *more])
