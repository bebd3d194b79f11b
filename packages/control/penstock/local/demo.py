"""The demo: lease two GPUs, watch them come, give them back, see the proof and the bill."""

import asyncio
import time
from collections.abc import Collection
from typing import Final

from rich.table import Table
from rich.text import Text

from penstock.local import story
from penstock.local.screen import Screen
from penstock.local.stack import Running
from penstock_client import errors, words
from penstock_client.views.allocations import Allocation

GPUS: Final = 2
PATIENCE_S: Final = 60.0
STATES: Final = (
    ("desired", "what central intends"),
    ("observed", "what the node reports"),
    ("execution", "what is being done"),
    ("projected", "what it comes to"),
)


async def show(running: Running, screen: Screen) -> None:
    """Never ends the platform: what goes wrong is told, and that is all."""
    try:
        await _show(running, screen)
    except errors.ClientError as error:
        screen.line(f"The demo ended early: {error}", "yellow")
    except TimeoutError:
        screen.line(
            f"The demo waited {PATIENCE_S:.0f} s and gave up; "
            "`penstock allocation ls` shows where it stands.",
            "yellow",
        )
    except Exception as error:
        screen.line(f"The demo ended early, by a fault of ours: {error!r}", "yellow")


async def _show(running: Running, screen: Screen) -> None:
    gpus = min(GPUS, running.profile.gpus)
    sku = running.profile.slice_sku
    screen.line(f"Demo: the tenant `demo` leases {gpus} GPUs ({sku}).", "bold")
    follower = _Follower(running, screen)
    lease = await asyncio.to_thread(
        running.client.allocations.create, project=running.platform.project, sku=sku, gpus=gpus
    )
    screen.line(f"  {lease['id']} on {lease['node']}, {words.price(lease)}")
    lease = await follower.until(lease["id"], {"active", "failed"})
    _show_states(lease, screen)
    if lease["status"] == "active":
        screen.line("\nDemo: the tenant gives them back.", "bold")
    lease = await asyncio.to_thread(running.client.allocations.release, lease["id"])
    lease = await follower.until(lease["id"], {"released", "cleanup_blocked"})
    follower.close()
    _show_states(lease, screen)
    await _show_usage(running, lease["id"], screen)


class _Follower:
    """Tells each event of one allocation, with the time since the demo began."""

    def __init__(self, running: Running, screen: Screen) -> None:
        self._running = running
        self._screen = screen
        self._started = time.monotonic()
        self._queue = running.pump.subscribe()

    def close(self) -> None:
        self._running.pump.unsubscribe(self._queue)

    async def until(self, id: str, statuses: Collection[str]) -> Allocation:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                lease = await asyncio.to_thread(self._running.client.allocations.get, id)
                self._tell_waiting(id)
                if lease["status"] in statuses:
                    return lease
                event = await self._queue.get()
                while not story.concerns(event, id):
                    event = await self._queue.get()
                self._tell(story.tell(event))

    def _tell_waiting(self, id: str) -> None:
        while not self._queue.empty():
            event = self._queue.get_nowait()
            if story.concerns(event, id):
                self._tell(story.tell(event))

    def _tell(self, line: str) -> None:
        self._screen.line(f"  {time.monotonic() - self._started:5.1f} s  {line}")


def _show_states(lease: Allocation, screen: Screen) -> None:
    """The four states side by side, each with its age."""
    table = Table(box=None, pad_edge=True, header_style="bold")
    for state, meaning in STATES:
        table.add_column(f"{state}\n{meaning}")
    states = lease["states"]
    ordered = (states["desired"], states["observed"], states["execution"], states["projected"])
    table.add_row(*(Text(words.plain(each["state"])) for each in ordered))
    table.add_row(*(Text(words.aged(each["age_s"]), "dim") for each in ordered))
    screen.show(table)


async def _show_usage(running: Running, id: str, screen: Screen) -> None:
    usage = (await asyncio.to_thread(running.client.usage.list, allocation=id))["items"]
    for fact in usage:
        cost = words.money(fact["cost_micros"], fact["currency"])
        screen.line(
            f"\n  usage   {fact['gpus']} GPUs × {fact['seconds']:.1f} s at {words.price(fact)} "
            f"= {cost}"
        )
    screen.line(f"  again   penstock allocation timeline {id}\n")
