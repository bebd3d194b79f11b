"""The newest revision of each document is kept, whatever its kind; what has ended for good goes."""

import asyncio
from importlib.metadata import entry_points

import pytest
import toy_kind
from site_stage import SOON_S, SiteStage, new_lease
from toy_kind import bench

from penstock.kernel.feed import Rejected
from penstock.site import kinds
from penstock.site.documents.model import Standing
from penstock.site.sagas.kinds import KindRefused, collect
from penstock_contracts import wire_pb2 as wire

pytestmark = pytest.mark.anyio


async def kept(stage: SiteStage, key: str) -> list[int]:
    rows = await stage.database.fetch("SELECT revision FROM documents WHERE key = $1", key)
    return [row["revision"] for row in rows]


async def test_a_kind_of_another_package_is_found_by_its_entry_point(stage: SiteStage) -> None:
    (entry,) = entry_points(group=kinds.GROUP)
    assert entry.value == "toy_kind:kind"
    assert stage.kinds.by_name.keys() == {"lease", "jar"}
    assert stage.kinds.by_name["jar"].decode is toy_kind.decode
    await stage.jar("jar-found")
    assert await stage.outcome("jar-found") == ""


async def test_two_packages_cannot_bring_one_kind(stage: SiteStage) -> None:
    jar = stage.kinds.by_name["jar"]
    with pytest.raises(KindRefused, match="two packages bring the kind 'jar'"):
        collect((jar, jar))


async def test_an_older_revision_or_the_same_again_changes_nothing(stage: SiteStage) -> None:
    await stage.jar("jar-newest", revision=3)
    assert await stage.outcome("jar-newest", revision=3) == ""
    for revision in (2, 3):
        await stage.jar("jar-newest", revision=revision)
        assert await kept(stage, "jar-newest") == [3]
    assert len(bench.done["jar-newest"]) == 3


async def test_what_has_ended_for_good_goes_with_all_that_was_told_of_it(stage: SiteStage) -> None:
    id = new_lease()
    await stage.lease(id, wire.DESIRED_ACTIVE)
    assert await stage.outcome(id) == ""
    gone = wire.Document(kind="lease", key=id, revision=1, gone=True)
    for _ in range(2):  # a repeated tombstone finds nothing
        await stage.send(gone)
        for table in ("documents", "steps", "observations"):
            rows = await stage.database.fetch(f"SELECT 1 FROM {table} WHERE key = $1", id)
            assert rows == [], table


async def test_a_tombstone_older_than_what_is_kept_is_passed_over(stage: SiteStage) -> None:
    await stage.jar("jar-kept", revision=2)
    await stage.jar("jar-kept", revision=1, gone=True)
    assert await kept(stage, "jar-kept") == [2]
    assert await stage.outcome("jar-kept", revision=2) == ""


async def test_a_workflow_whose_document_is_gone_ends_and_leaves_nothing(stage: SiteStage) -> None:
    key = "jar-gone"
    bench.stuck.add((key, "fill"))
    await stage.jar(key)
    await asyncio.wait_for(bench.reached[key, "fill"].wait(), SOON_S)
    await stage.jar(key, revision=2, gone=True)
    assert await stage.outcome(key) == Standing.GONE
    assert await stage.steps(key) == []
    assert await kept(stage, key) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "cluster"}, "this site does not know documents of kind 'cluster'"),
        ({"kind": "Jar"}, "cannot be a kind"),
        ({"kind": "j" * 41}, "cannot be a kind"),
        ({"key": ""}, "cannot be a key"),
        ({"key": "jar:1"}, "cannot be a key"),
        ({"key": "j" * 121}, "cannot be a key"),
        ({"revision": 0}, "revision 0 of jar jar-bad is out of range"),
        ({"revision": 2**63}, "is out of range"),
        ({"body": b"1"}, "jar jar-bad: a jar holds text"),
        ({"body": b"\xff"}, "jar jar-bad: "),
        ({"body": b"x" * (2**20 + 1)}, "which is more than"),
        ({"kind": "cluster", "key": "\x00", "gone": True}, "cannot be a key"),
    ],
)
async def test_what_is_no_document_of_a_known_kind_is_refused_with_words(
    stage: SiteStage, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(Rejected, match=words):
        await stage.jar("jar-bad", **changes)  # pyright: ignore[reportArgumentType] # any field
    assert await kept(stage, "jar-bad") == []


async def test_a_lease_is_filed_under_its_own_name_alone(stage: SiteStage) -> None:
    for changes in ({"key": new_lease()}, {"revision": 9}, {"body": b"\xff"}):
        document = stage.lease_document(new_lease(), wire.DESIRED_ACTIVE)
        for name, value in changes.items():
            setattr(document, name, value)
        with pytest.raises(Rejected, match="its body is"):
            await stage.send(document)
        assert await kept(stage, document.key) == []
