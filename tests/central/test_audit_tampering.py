"""R30: whatever is done to the log or to its export is found, and named.

An intruder here is a superuser of the database who also knows how hashes are made, or somebody
who can write to the object storage. Neither has the platform's key.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from penstock.central.audit import exporter as exporting
from penstock.central.audit import store
from penstock.central.audit.exporter import Exporter
from penstock.central.evidence.archive import Tampered
from penstock.kernel import audit, authority
from penstock.kernel.actor import SYSTEM
from penstock.kernel.authority import Authority
from penstock.kernel.db import Database
from penstock.kernel.objects import Objects
from penstock_client import verifying
from penstock_client.chains import Line
from penstock_client.exports import Export
from penstock_client.verifying import Verified
from penstock_contracts.identity import PrivateKey

from . import plane

pytestmark = pytest.mark.anyio

SEGMENTS: Final = 4
EACH: Final = 5  # entries in a segment
LAST: Final = SEGMENTS * EACH


@dataclass
class Scene:
    url: str
    database: Database
    folder: Path
    root: Authority
    exporter: Exporter

    async def append(self, count: int) -> None:
        for _ in range(count):
            async with self.database.transaction() as tx:
                audit.record(tx, SYSTEM, "thing.change", "thing_1", reason="é\u2028\n", price=1.50)

    async def faults(self) -> list[str]:
        """What a client finds that compares the two and takes nobody's word."""
        async with self.database.transaction() as tx:
            lines = await store.lines(tx, 0, 10_000)
            claimed = (await store.export(tx)).point.seq
        found = verifying.verify(
            Export(self.folder.as_uri()),
            [Line(line.text, "the log") for line in lines],
            claimed=claimed,
            certificate=self.root.pem.encode(),
            to=Verified(),
        )
        return [f"{fault.where}: {fault.what}" for fault in found]

    async def faults_in_sql(self) -> list[str]:
        async with self.database.transaction() as tx:
            found = await store.faults(tx, 0, store.SEQ_MAX, 100)
        return [f"{fault.seq}: {fault.fault}" for fault in found]

    def segments(self) -> list[Path]:
        return sorted(self.folder.rglob("*.jsonl"))


@pytest.fixture
async def scene(central_url: str, database: Database, tmp_path: Path) -> Scene:
    root = authority.load_or_create_root(tmp_path)
    folder = tmp_path / "audit"
    exporter = Exporter(database, Objects(folder.as_uri()), root.key)
    made = Scene(central_url, database, folder, root, exporter)
    for _ in range(SEGMENTS):
        await made.append(EACH)
        await exporter.catch_up()
    return made


async def test_what_nobody_touched_is_whole_and_exported_once(scene: Scene) -> None:
    assert await scene.faults() == []
    assert await scene.faults_in_sql() == []
    assert len(scene.segments()) == SEGMENTS
    await scene.exporter.catch_up()
    await scene.append(1)  # not yet exported, which is no fault
    assert await scene.faults() == []
    assert len(scene.segments()) == SEGMENTS


class Busy(Objects):
    """While it writes, something else is audited; not for ever, or a test could not end."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.folder.as_uri())
        self._scene = scene
        self._more = 3

    async def put_new(self, name: str, body: bytes) -> bool:
        if self._more:
            self._more -= 1
            await self._scene.append(1)
        return await super().put_new(name, body)


async def test_what_comes_while_a_segment_is_written_is_for_the_next_time(scene: Scene) -> None:
    exporter = Exporter(scene.database, Busy(scene), scene.root.key)
    await scene.append(2)
    await exporter.catch_up()
    assert len(scene.segments()) == SEGMENTS + 1
    await exporter.catch_up()
    assert len(scene.segments()) == SEGMENTS + 2
    assert await scene.faults() == []


async def test_a_segment_of_many_pages_is_one_and_each_page_is_checked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PAGE_LINES", 4)
    await scene.append(10)
    await scene.exporter.catch_up()
    assert len(scene.segments()) == SEGMENTS + 1
    assert await scene.faults() == []
    await scene.append(10)
    change = f"UPDATE audit_entries SET actor = 'mallory' WHERE seq = {LAST + 17}"
    await plane.as_superuser(scene.url, change)
    with pytest.raises(Tampered, match=f"entry {LAST + 17}: it is not what its hash was made from"):
        await scene.exporter.catch_up()
    assert len(scene.segments()) == SEGMENTS + 1


# As an intruder would who covers the traces: every hash again, and the head.
REHASH: Final = """;
DO $$ DECLARE e record; last bytea := '\\x00'; BEGIN
    FOR e IN SELECT * FROM audit_entries ORDER BY seq LOOP
        last := audit_hash(last, e.seq, e.tenant_id, e.actor, e.action, e.subject, e.detail,
            e.reason, e.correlation_id, e.at);
        UPDATE audit_entries SET hash = last WHERE seq = e.seq;
    END LOOP;
    UPDATE audit_head SET seq = coalesce((SELECT max(seq) FROM audit_entries), 0), hash = last;
END $$
"""
CHANGE: Final = "UPDATE audit_entries SET actor = 'mallory' WHERE seq = 7"
REMOVE: Final = "DELETE FROM audit_entries WHERE seq = 7"
CLOSE_UP: Final = "UPDATE audit_entries SET seq = seq - 1000001 WHERE seq > 1000007"
CUT: Final = "DELETE FROM audit_entries WHERE seq > 15"
SWAP: Final = (
    "UPDATE audit_entries SET seq = seq + 100 WHERE seq IN (7, 8); "
    "UPDATE audit_entries SET seq = 115 - seq WHERE seq > 100"
)
INSERT: Final = (
    "UPDATE audit_entries SET seq = seq + 1000000 WHERE seq > 6; "
    "UPDATE audit_entries SET seq = seq - 999999 WHERE seq > 1000000; "
    "INSERT INTO audit_entries SELECT 7, tenant_id, 'mallory', action, subject, detail, reason, "
    "correlation_id, at, hash FROM audit_entries WHERE seq = 6"
)
BELOW: Final = (
    "INSERT INTO audit_entries SELECT 0, tenant_id, actor, action, subject, detail, reason, "
    "correlation_id, at, hash FROM audit_entries WHERE seq = 1"
)
IN_THE_LOG: Final = {
    "change one": (CHANGE, "the log: entry 7 is not what its hash was made from"),
    "change one and every hash": (CHANGE + REHASH, "entry 7 is not what was exported in segments/"),
    "delete one": (REMOVE, "the log: the entries from 7 to 7 are missing"),
    "delete the first": (
        "DELETE FROM audit_entries WHERE seq = 1", "the log: the entries from 1 to 1 are missing",
    ),
    "delete one, close up and rehash": (
        REMOVE + "; UPDATE audit_entries SET seq = seq + 1000000 WHERE seq > 7; " + CLOSE_UP
        + REHASH, "entry 7 is not what was exported",
    ),
    "insert one": (INSERT, "entry 7 is not what its hash was made from"),
    "insert one and rehash": (INSERT + REHASH, "entry 7 is not what was exported"),
    "insert below the first": (BELOW, None),
    "swap two": (SWAP, "entry 7 is not what its hash was made from"),
    "swap two and rehash": (SWAP + REHASH, "entry 7 is not what was exported"),
    "cut off the end": (CUT, "the log: the entries from 16 to 20 were exported; 5 of them"),
    "cut off the end and move the head": (
        CUT + REHASH, "the log: the entries from 16 to 20 were exported; 5 of them",
    ),
    "cut off all and begin again": (
        "TRUNCATE audit_entries" + REHASH, "the log: the entries from 1 to 20 were exported; 20 of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("done", IN_THE_LOG)
async def test_what_is_done_to_the_log_is_found_and_named(scene: Scene, done: str) -> None:
    sql, expected = IN_THE_LOG[done]
    await plane.as_superuser(scene.url, sql)
    covered = REHASH in sql
    assert bool(await scene.faults_in_sql()) is not covered, "the database alone sees what it can"
    if expected is not None:
        found = await scene.faults()
        assert any(expected in fault for fault in found), found


@pytest.mark.parametrize("done", [name for name in IN_THE_LOG if "cut off" in name])
async def test_the_exporter_itself_does_not_go_on_from_a_log_that_was_cut_off(
    scene: Scene, done: str
) -> None:
    kept = {path: path.read_bytes() for path in scene.segments()}
    sql = IN_THE_LOG[done][0]
    await plane.as_superuser(scene.url, sql)
    with pytest.raises(Tampered, match="entry 20 was exported, and the log has no such entry"):
        await scene.exporter.catch_up()
    if REHASH in sql:
        await scene.append(LAST)  # the numbers are all there again, and others' entries
        with pytest.raises(Tampered, match="entry 20 was exported with another hash"):
            await scene.exporter.catch_up()
    assert {path: path.read_bytes() for path in scene.segments()} == kept


async def test_what_is_changed_before_it_is_exported_is_not_exported(scene: Scene) -> None:
    await scene.append(3)
    await plane.as_superuser(scene.url, "UPDATE audit_entries SET actor = 'x' WHERE seq = 22")
    with pytest.raises(Tampered, match="entry 22: it is not what its hash was made from"):
        await scene.exporter.catch_up()
    assert len(scene.segments()) == SEGMENTS


def _edit(which: int, edit: Callable[[str], str]) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        path = scene.segments()[which]
        path.write_bytes(edit(path.read_bytes().decode()).encode())

    return change


def _remove(which: int) -> Callable[[Scene], None]:
    return lambda scene: scene.segments()[which].unlink()


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _exchange(scene: Scene) -> None:
    one, other = scene.segments()[1], scene.segments()[2]
    a, b = one.read_bytes(), other.read_bytes()
    one.write_bytes(b)
    other.write_bytes(a)


def _checkpoint(edit: Callable[[str], str]) -> Callable[[Scene], None]:
    def change(scene: Scene) -> None:
        path = scene.folder / "checkpoint.json"
        path.write_text(edit(path.read_text()))

    return change


IN_THE_EXPORT: Final[dict[str, tuple[Callable[[Scene], None], str]]] = {
    "change an entry": (
        _edit(1, lambda text: text.replace("thing_1", "thing_2", 1)),
        "00000000000000000006.jsonl: entry 6 is not what its hash was made from",
    ),
    "change a hash": (
        _edit(1, lambda text: text.replace('"hash": "', '"hash": "0', 1)),
        "what follows entry 5 is not a line of an audit log",
    ),
    "remove a line": (
        _edit(1, lambda text: _joined(_lines(text)[:2] + _lines(text)[3:])),
        "00000000000000000006.jsonl: the entries from 8 to 8 are missing",
    ),
    "add a line": (
        _edit(1, lambda text: _joined([*_lines(text), _lines(text)[-1]])),
        "00000000000000000006.jsonl: entry 10 comes after entry 10",
    ),
    "swap lines": (
        _edit(1, lambda text: _joined(_lines(text)[::-1])),
        "00000000000000000006.jsonl: the entries from 6 to 9 are missing",
    ),
    "cut a segment short": (
        _edit(1, lambda text: text[:-100]), "is not a line of an audit log",
    ),
    "empty a segment": (_edit(1, lambda _: ""), "is not a line of an audit log"),
    "delete the first segment": (_remove(0), "the entries from 1 to 5 are missing"),
    "delete a segment": (_remove(2), "the entries from 11 to 15 are missing"),
    "delete the last segment": (
        _remove(-1), "checkpoint.json: it is at entry 20, which no segment has",
    ),
    "exchange two segments": (_exchange, "the entries from 6 to 10 are missing"),
    "delete the checkpoint": (
        lambda scene: (scene.folder / "checkpoint.json").unlink(), "checkpoint.json: there is none",
    ),
    "spoil the checkpoint": (_checkpoint(lambda text: text[:-9]), "checkpoint.json: it cannot be"),
    "move the checkpoint": (
        _checkpoint(lambda text: text.replace('"seq":20', '"seq":19')),
        "checkpoint.json: its hash of entry 19 is not the one in the segments",
    ),
    "delete everything": (
        lambda scene: shutil.rmtree(scene.folder / "segments"), "but 20 entries were exported",
    ),
}  # fmt: skip


@pytest.mark.parametrize("done", IN_THE_EXPORT)
async def test_what_is_done_to_the_export_is_found_and_named(scene: Scene, done: str) -> None:
    act, expected = IN_THE_EXPORT[done]
    act(scene)
    found = await scene.faults()
    assert any(expected in fault for fault in found), found


async def test_an_older_checkpoint_without_what_came_after_it_is_found(scene: Scene) -> None:
    checkpoint = (scene.folder / "checkpoint.json").read_bytes()
    await scene.append(2)
    await scene.exporter.catch_up()
    (scene.folder / "checkpoint.json").write_bytes(checkpoint)
    scene.segments()[-1].unlink()
    (found,) = await scene.faults()
    assert "it ends with entry 20, but 22 entries were exported: objects are missing" in found


async def test_a_checkpoint_that_another_key_signed_is_found(scene: Scene, tmp_path: Path) -> None:
    forged = Exporter(scene.database, Objects((tmp_path / "other").as_uri()), PrivateKey.generate())
    await forged.catch_up()
    shutil.copy(tmp_path / "other" / "checkpoint.json", scene.folder / "checkpoint.json")
    assert await scene.faults() == ["checkpoint.json: it is not signed by the platform's key"]
    with pytest.raises(Tampered, match="not signed by the platform's key"):
        await scene.exporter.catch_up()


async def test_an_export_and_a_log_that_were_both_written_anew_need_the_platforms_key(
    scene: Scene, tmp_path: Path
) -> None:
    await plane.as_superuser(scene.url, CHANGE + REHASH)
    forged = Exporter(scene.database, Objects((tmp_path / "other").as_uri()), PrivateKey.generate())
    await forged.catch_up()
    shutil.rmtree(scene.folder)
    shutil.copytree(tmp_path / "other", scene.folder)
    assert await scene.faults() == ["checkpoint.json: it is not signed by the platform's key"]


async def test_a_checkpoint_that_is_gone_is_not_made_anew(scene: Scene) -> None:
    (scene.folder / "checkpoint.json").unlink()
    with pytest.raises(Tampered, match="is gone; it was at entry 20"):
        await scene.exporter.catch_up()


async def test_another_store_begins_with_the_first_entry(scene: Scene, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    await Exporter(scene.database, Objects(moved.as_uri()), scene.root.key).catch_up()
    scene.folder = moved
    assert await scene.faults() == []
    assert len(scene.segments()) == 1
