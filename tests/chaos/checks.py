"""What must be true once a lease is over, whatever happened on the way."""

import sqlite3
from datetime import datetime

from penstock_contracts import identity
from penstock_contracts.wire_pb2 import CleanupProof, Signed

from . import watching
from .platform import Platform


def assert_released(platform: Platform, id: str) -> None:
    """It lived and ended: metered exactly, proven clean, nothing left behind."""
    seen = platform.show(id)
    assert seen["status"] == "released", seen
    assert_usage(platform, id, "OBSERVED_ACTIVE", "OBSERVED_STOPPING")
    assert_over(platform, id)


def assert_failed(platform: Platform, id: str) -> None:
    """It never was the tenant's: nothing metered, proven clean, and it says why."""
    seen = platform.show(id)
    assert seen["status"] == "failed", seen
    assert seen["reason"], seen
    assert usage_of(platform, id) == []
    assert_over(platform, id)


def assert_over(platform: Platform, id: str) -> None:
    assert_proven(platform, id)
    assert_nothing_is_claimed(platform)
    assert_world_is_clean(platform)
    assert_answers_agree(platform, id)
    assert_nothing_is_violated(platform)


def usage_of(platform: Platform, id: str) -> list[tuple[datetime, datetime | None]]:
    usage = platform.client.usage.list(allocation=id)["items"]
    return [(datetime.fromisoformat(one["from"]), _time(one["to"])) for one in usage]


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def assert_usage(platform: Platform, id: str, begin: str, end: str) -> None:
    """One closed segment, from one of the site's observations to another, to the microsecond. The
    site keeps nothing of a lease that is over: what it said is in central's events."""
    sql = (
        "SELECT 'OBSERVED_' || upper(data->>'observed'), (data->>'reported_at')::timestamptz"
        " FROM events WHERE subject = %s AND type = 'allocation.observed'"
    )
    seen = {str(observed): at for observed, at in watching.rows(platform.central_url, sql, id)}
    assert usage_of(platform, id) == [(seen[begin], seen[end])]


def assert_proven(platform: Platform, id: str) -> None:
    """Each slot and fence that it held has a proof of its own, signed by the node's key."""
    claims = watching.rows(
        platform.central_url,
        "SELECT c.slot_id, c.fence, n.public_key, p.payload, p.signature FROM claims c"
        " JOIN nodes n ON n.id = c.node_id"
        " LEFT JOIN cleanup_proofs p ON (p.slot_id, p.fence) = (c.slot_id, c.fence)"
        " WHERE c.allocation_id = %s",
        id,
    )
    assert claims
    for slot_id, fence, public_key, payload, signature in claims:
        assert isinstance(public_key, bytes)
        assert isinstance(payload, bytes), f"{slot_id} was freed without a proof"
        assert isinstance(signature, bytes)
        signed = Signed(payload=payload, signature=signature)
        proof = CleanupProof.FromString(identity.verify(public_key, signed))
        assert (proof.slot_id, proof.fence, proof.allocation_id) == (slot_id, fence, id)
        assert all(step.passed for step in proof.steps)


def assert_nothing_is_claimed(platform: Platform) -> None:
    node = platform.client.nodes.list()["items"][0]["id"]
    states = {slot["state"] for slot in platform.client.nodes.slots(node)["items"]}
    assert states == {"approved"}


def assert_world_is_clean(platform: Platform) -> None:
    """No tenant's runtime is left on the simulated host, and no device with its traces."""
    assert world(platform, "SELECT allocation_id FROM runtimes") == []
    assert world(platform, "SELECT device, allocation_id FROM devices") == []


def world(platform: Platform, sql: str) -> list[tuple[object, ...]]:
    return _sqlite(platform, "world.db", sql)


def assert_answers_agree(platform: Platform, id: str) -> None:
    """Each task was answered once: what the site holds is the agent's first result."""
    kept = _sqlite(platform, "journal.db", "SELECT task_id, body FROM results")
    first = {str(task): body for task, body in kept}
    tasks = watching.rows(
        platform.site_url, "SELECT id, result FROM tasks WHERE allocation_id = %s", id
    )
    assert tasks
    assert {task: result for task, result in tasks if result != first.get(str(task))} == {}


def assert_nothing_is_violated(platform: Platform) -> None:
    for url in (platform.central_url, platform.site_url):
        rejected = watching.rows(url, "SELECT source, seq, reason FROM feed_rejections")
        assert rejected == [], rejected
    checked = platform.client.invariants()["items"]
    assert checked
    violated = {one["name"]: one["violations"] for one in checked if one["violations"]}
    assert violated == {}, violated


def _sqlite(platform: Platform, name: str, sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(f"file:{platform.data / 'agent' / name}?mode=ro", uri=True)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()
