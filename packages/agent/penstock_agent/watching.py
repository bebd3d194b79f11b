"""Ensures that a node's site knows which checks of its host do not pass.

What goes up is the whole truth each time, and only when it changed: a burst is one message. What
a crash loses is found again by the next watch, which begins with everything that does not pass.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from penstock_agent import results
from penstock_agent.executor import Node
from penstock_agent.marks import Mark
from penstock_contracts.drivers.host import Fact
from penstock_contracts.wire_pb2 import HostHealth, Problem

PAUSE_S: Final = 1.0  # between two messages: a check that flaps is told at this pace
PROBLEMS_MAX: Final = 256  # told; others are counted
KNOWN_MAX: Final = 4096  # kept
CHECK_MAX: Final = 64
SUBJECT_MAX: Final = 128
DETAIL_MAX: Final = 300

Problems = dict[tuple[str, str], Problem]


async def run(node: Node, pause_s: float = PAUSE_S) -> None:
    """Tell what does not pass, as often as it changes; ends only by failing."""
    known: Problems = {}
    changed = Mark(0)
    async with asyncio.TaskGroup() as group:
        group.create_task(_follow(node, known, changed))
        group.create_task(_tell(node, known, changed, pause_s))


async def _follow(node: Node, known: Problems, changed: Mark) -> None:
    async for fact in node.host.watch():
        if _note(known, fact):
            changed.reach(changed.value + 1)
    raise RuntimeError("the host's watch ended, which it must not")


def _note(known: Problems, fact: Fact) -> bool:
    """Whether the fact changes what is known."""
    key = _line(fact.check, CHECK_MAX), _line(fact.subject, SUBJECT_MAX)
    before = known.get(key)
    if fact.passed:
        return known.pop(key, None) is not None
    detail = _line(fact.detail, DETAIL_MAX)
    if before is not None and before.detail == detail:
        return False
    if before is None and len(known) >= KNOWN_MAX:
        return False
    known[key] = Problem(check=key[0], subject=key[1], detail=detail)
    return True


async def _tell(
    node: Node, known: Mapping[tuple[str, str], Problem], changed: Mark, pause_s: float
) -> None:
    await asyncio.sleep(pause_s)  # what a watch begins with is one message
    while True:
        seen = changed.value
        health = _health(known)
        said = results.healthy(health)
        said.node_id = node.id
        said.finished_at_us = node.clock_us()
        signed = node.key.sign(said.SerializeToString())
        await node.journal.say_health(health.SerializeToString(), signed.SerializeToString())
        await changed.beyond(seen)
        await asyncio.sleep(pause_s)


def _health(known: Mapping[tuple[str, str], Problem]) -> HostHealth:
    listed = [known[key] for key in sorted(known)]
    return HostHealth(problems=listed[:PROBLEMS_MAX], more=max(len(listed) - PROBLEMS_MAX, 0))


def _line(said: str, length_max: int) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in said[:length_max])
