"""One node's life: join its site, then keep its certificate, its link and its executor going."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from penstock_agent import executor, journal, rejoining, watching
from penstock_agent.database import Database
from penstock_agent.executor import Node
from penstock_contracts import membership
from penstock_contracts.drivers.host import Host
from penstock_contracts.files import Damaged
from penstock_contracts.identity import PrivateKey
from penstock_contracts.join import JoinToken
from penstock_contracts.membership import JoinRefused, Member

RESTART_S_MIN: Final = 0.2
RESTART_S_MAX: Final = 30.0
STARTING_MAX: Final = 32  # nodes that join or dial for the first time at once
FIRST_LINK_S: Final = 5.0  # then the next node may start, whether or not this one has a link

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True)
class Place:
    """Where one node runs: its name, its folder, its host, and its token if it must join."""

    name: str
    folder: Path
    host: Host
    token: JoinToken | None


class Connected:
    """Ensures that whoever waits hears when every node has had its link."""

    def __init__(self, nodes: int) -> None:
        self._missing = nodes
        self.all = asyncio.Event()

    def add(self) -> None:
        self._missing -= 1
        if self._missing == 0:
            self.all.set()


async def live(
    place: Place, database: Database, starting: asyncio.Semaphore, connected: Connected
) -> None:
    """Run a node until cancelled. Only a refused join ends it otherwise."""
    delay_s = RESTART_S_MIN
    while True:
        try:
            member = await _member(place, starting)
            await _serve(await _node(place, member, database), member, starting, connected)
        except JoinRefused as refusal:
            raise JoinRefused(f"{place.name} cannot join: {refusal}") from refusal
        except Damaged as damage:  # the others go on, and so does this one if it is put right
            _log.error("node cannot start; it tries again", node=place.name, why=str(damage))
        except Exception:
            _log.exception("node failed to start; it tries again", node=place.name)
        await asyncio.sleep(delay_s)
        delay_s = min(delay_s * 2, RESTART_S_MAX)


async def _node(place: Place, member: Member, database: Database) -> Node:
    return Node(
        id=member.id,
        key=member.key,
        task_key=member.order_key,
        journal=await journal.of_node(database, member.id),
        host=place.host,
        log=_log.bind(node_id=member.id, node=place.name),
    )


async def _serve(
    node: Node, member: Member, starting: asyncio.Semaphore, connected: Connected
) -> None:
    up = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_keep(node, "executor", lambda: executor.run(node)))
        group.create_task(_keep(node, "certificate", lambda: _keep_fresh(node, member)))
        group.create_task(_keep(node, "watch", lambda: watching.run(node)))
        async with starting:
            group.create_task(_keep(node, "link", lambda: _dial(node, member, up)))
            with suppress(TimeoutError):
                await asyncio.wait_for(up.wait(), FIRST_LINK_S)
        await up.wait()
        connected.add()


async def _member(place: Place, starting: asyncio.Semaphore) -> Member:
    if member := membership.load(place.folder):
        return member
    if place.token is None:
        raise RuntimeError(f"{place.folder} lost its membership while the agent started")
    if place.token.rejoins:  # it may wait for days, so it takes no turn
        return await rejoining.rejoin(place.folder, place.token, place.name, place.host)
    async with starting:
        return await _join(place, place.token)


async def _join(place: Place, token: JoinToken) -> Member:
    # Making the key syncs the disk; in a thread, so that the other nodes go on.
    await asyncio.to_thread(PrivateKey.load_or_generate, place.folder / "key.pem")
    member = await membership.join(place.folder, token, place.name)
    _log.info("node joined", node_id=member.id, node=place.name)
    return member


async def _keep_fresh(node: Node, member: Member) -> None:
    await member.keep_fresh(lambda why: node.log.warning("certificate not renewed", reason=why))


async def _dial(node: Node, member: Member, up: asyncio.Event) -> None:
    last: tuple[bool, str] | None = None

    def changed(is_up: bool, why: str) -> None:
        nonlocal last
        if (is_up, why) != last:  # a site that is away is said once, not at every try
            last = (is_up, why)
            node.log.info("link up") if is_up else node.log.warning("link down", reason=why)
        if is_up:
            up.set()

    await member.dial(node.journal, node.journal, changed)


async def _keep(node: Node, what: str, loop: Callable[[], Awaitable[None]]) -> None:
    """Ensures that one of a node's loops runs. Its failure stays its own."""
    delay_s = RESTART_S_MIN
    while True:
        started = asyncio.get_running_loop().time()
        try:
            await loop()
        except Exception:
            node.log.exception("loop failed; it starts again", loop=what)
        if asyncio.get_running_loop().time() - started > RESTART_S_MAX:
            delay_s = RESTART_S_MIN
        await asyncio.sleep(delay_s * random.uniform(0.5, 1.5))  # noqa: S311 jitter
        delay_s = min(delay_s * 2, RESTART_S_MAX)
