"""A node loses its key, comes back and is trusted again; a node is retired and replaced."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock_client.views.fleet import JoinToken, Reenrolment

from . import checks, watching
from .platform import Platform
from .program import NotReady

WHY = "its serial is on the box"


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Who starts a process outlives it: the process dies with the thread that started it."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def own() -> Iterator[Platform]:
    """A platform of this test's own: its node does not stay what it was."""
    platform = Platform()
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()


def node_of(platform: Platform) -> str:
    return platform.client.nodes.list()["items"][0]["id"]


def lose_the_disk(platform: Platform) -> None:
    """Key, membership and journal are gone; the machine and what runs on it are not."""
    platform.agent.kill()
    shutil.rmtree(platform.data / "agent" / "nodes")
    for lost in (platform.data / "agent").glob("journal.db*"):
        lost.unlink()


def lose_the_machine(platform: Platform) -> None:
    platform.agent.kill()
    shutil.rmtree(platform.data / "agent")
    (platform.data / "agent").mkdir(mode=0o700)


def give(platform: Platform, token: JoinToken) -> None:
    platform.until_site("SELECT 1 FROM node_tokens WHERE id = %s", token.get("id"))
    (platform.data / "agent" / "tokens").write_text(f"{token['token']}\n")


def waiting(platform: Platform, node: str) -> Reenrolment:
    platform.until_central(
        "SELECT 1 FROM reenrolments WHERE node_id = %s AND decision IS NULL", node
    )
    return platform.client.reenrolments.list(node=node, status="waiting")["items"][0]


def live_and_end(platform: Platform) -> None:
    id = platform.lease()
    platform.until_active(id)
    platform.release(id)
    platform.until_freed(id)
    checks.assert_released(platform, id)


def test_a_node_that_lost_its_key_comes_back_though_planes_die_meanwhile(
    own: Platform, threads: ThreadPoolExecutor
) -> None:
    node, held = node_of(own), own.lease()
    own.until_active(held)
    ((old_fence,),) = watching.rows(own.central_url, "SELECT max(fence) FROM claims")
    lose_the_disk(own)
    give(own, own.client.nodes.create_rejoin_token(node))
    started = threads.submit(own.agent.start)  # ready once it is back
    asked = waiting(own, node)
    assert (asked["differs"], asked["node"]) == ("", node)
    assert [len(part["same"]) for part in asked["parts"]] == [8, 8, 8, 1]
    own.agent.until_written(asked["key"])
    own.site.kill()
    approved = own.client.reenrolments.approve(asked["id"], reason=WHY)
    assert approved["status"] == "approved"
    own.kill_central()
    own.start_central()
    own.site.start()
    started.result()
    assert node_of(own) == node
    own.until_freed(held)
    checks.assert_proven(own, held)
    own.settle()
    checks.assert_nothing_is_claimed(own)
    checks.assert_world_is_clean(own)
    live_and_end(own)
    ((new_fence,),) = watching.rows(own.central_url, "SELECT max(fence) FROM claims")
    assert isinstance(old_fence, int)
    assert isinstance(new_fence, int)
    assert new_fence > old_fence


def test_another_machine_is_told_no_and_takes_the_place_of_the_retired_one(
    own: Platform, threads: ThreadPoolExecutor
) -> None:
    node, held = node_of(own), own.lease()
    own.until_active(held)
    lose_the_machine(own)
    give(own, own.client.nodes.create_rejoin_token(node))
    started = threads.submit(own.agent.start)
    asked = waiting(own, node)
    assert asked["differs"] == "8 of its gpu devices are gone and 8 are new"
    own.client.reenrolments.reject(asked["id"], reason="it is another machine")
    with pytest.raises(NotReady, match="was rejected: it is another machine"):
        started.result()

    own.client.nodes.retire(node, reason="its machine is gone")
    own.release(held)
    assert own.client.nodes.get(node)["posture"] == "retiring"
    own.client.allocations.abandon(held, reason="its machine is gone")
    assert own.client.nodes.get(node)["posture"] == "retired"
    own.until_site("SELECT 1 FROM nodes WHERE id = %s AND retired_at IS NOT NULL", node)

    shutil.rmtree(own.data / "agent" / "nodes")
    give(own, own.client.nodes.replace(node))
    own.agent.start()
    own.until_central("SELECT 1 FROM nodes WHERE replaces = %s AND connected", node)
    new = node_of(own)
    assert own.client.nodes.get(node)["replaced_by"] == new
    own.until_central("SELECT 1 FROM events WHERE type = 'node.schedulable' AND subject = %s", new)
    live_and_end(own)
