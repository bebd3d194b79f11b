"""What grows at central goes when it is old, and evidence only once it is exported."""

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest

from penstock.central import fleet, retention
from penstock.central.allocations import remains, service
from penstock.central.audit import trimming as audit_trimming
from penstock.central.audit.exporter import Exporter
from penstock.central.evidence import trimming
from penstock.central.placement import receipts, replaying
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.central.settings import CentralSettings
from penstock.kernel import audit, authority, consumers, events, invariants
from penstock.kernel.actor import SYSTEM
from penstock.kernel.authority import Authority
from penstock.kernel.consumers import Begin
from penstock.kernel.db import Database, Tx
from penstock.kernel.errors import Gone, NotFound
from penstock.kernel.objects import Objects
from penstock.kernel.retention import Trimmer
from penstock_client import verifying
from penstock_client.chains import Line
from penstock_client.exports import Export
from penstock_client.verifying import Verified
from penstock_contracts.failpoints import FOLDER, Failpoint, FailpointHit
from penstock_contracts.ids import AllocationId

from . import fleet_stage, plane
from .fleet_stage import Stage

pytestmark = pytest.mark.anyio
TIMES = {
    "events": ("at",), "audit_entries": (), "fleet_changes": ("at",),
    "claims": ("claimed_at", "freed_at"), "cleanup_proofs": ("proven_at",),
    "allocations": ("created_at", "desired_at", "placed_at", "freed_at"), "log_starts": ("at",),
}  # fmt: skip


@dataclass
class Past:
    """Central's database, in which time can be made to have passed."""

    url: str
    database: Database
    stage: Stage
    folder: Path
    root: Authority
    trimmer: Trimmer
    exporter: Exporter

    async def lease(self) -> AllocationId:
        (outcome,) = await Committer(self.database).commit([self.stage.ask(1)])
        assert isinstance(outcome, Placed)
        return outcome.allocation.id

    async def ended(self) -> AllocationId:
        id = await self.lease()
        await self.stage.give_back(id)
        return id

    async def pass_days(self, days: int, where: str = "true") -> None:
        """All that is there is so much older. (Audit entries are hashed with their times.)"""
        sql = "; ".join(
            f"UPDATE {table} SET "
            + ", ".join(f"{column} = {column} - interval '{days} days'" for column in columns)
            + f" WHERE {where.format(columns[0])}"
            for table, columns in TIMES.items()
            if columns
        )
        await plane.as_superuser(self.url, f"SET session_replication_role = replica; {sql}")

    async def value(self, sql: str) -> Any:
        async with self.database.transaction() as tx:
            return await tx.fetchval(sql)

    async def count(self, table: str) -> int:
        return int(await self.value(f"SELECT count(*) FROM {table}"))

    async def held(self, name: str) -> str:
        return str(await self.value(f"SELECT held FROM retentions WHERE name = '{name}'"))

    async def violations(self) -> dict[str, int]:
        async with self.database.transaction() as tx:
            found = await invariants.check(tx)
        return {each.name: each.violations for each in found if each.violations}

    def exported(self, log: str) -> list[list[Any]]:
        """Every entry over there, in order; each segment and the checkpoint verify."""
        lines = [
            orjson.loads(line)
            for path in sorted((self.folder / log).rglob("*.jsonl"), key=lambda path: path.name)
            for line in path.read_bytes().splitlines()
        ]
        checkpoint = orjson.loads((self.folder / log / "checkpoint.json").read_bytes())
        assert checkpoint["hash"] == lines[-1]["hash"]
        return [line["entry"] for line in lines]


def trimmer(database: Database, url: str, folder: Path, root: Authority, **kept: float) -> Trimmer:
    settings = CentralSettings.model_validate({"database_url": url, "data": folder, **kept})
    return retention.trimmer(database, settings, Objects(folder.as_uri()), root.key)


def arm(point: Failpoint) -> None:
    """It fails there, once."""
    Path(os.environ[FOLDER], point.name).write_text("fail")


@pytest.fixture
async def past(
    central_url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Past:
    root = authority.load_or_create_root(tmp_path / "root")
    folder = tmp_path / "evidence"
    monkeypatch.setenv(FOLDER, str(tmp_path))
    stage = await fleet_stage.build(database, nodes=2)
    exporter = Exporter(database, Objects(folder.as_uri()), root.key)
    made = trimmer(database, central_url, folder, root)
    return Past(central_url, database, stage, folder, root, made, exporter)


async def test_nothing_goes_that_is_young(past: Past) -> None:
    await past.ended()
    await past.pass_days(20)
    assert await past.trimmer.trim() == {}
    assert not await past.violations()


async def test_what_a_lease_leaves_goes_in_time_and_its_evidence_is_exported(past: Past) -> None:
    id, lives = await past.ended(), await past.lease()
    proof = await past.value("SELECT encode(payload, 'base64') FROM cleanup_proofs")
    rows = await past.count("events"), await past.value("SELECT max(revision) FROM fleet_changes")
    await past.pass_days(40)
    gone = await past.trimmer.trim()
    assert gone.keys() == {"events", "fleet"}, "the lease itself is kept for longer"
    async with past.database.transaction() as tx:
        assert (await service.get(tx, SYSTEM, id)).freed_at is not None
    await past.pass_days(60)
    await past.stage.add(fleet_stage.Node("new", 8))  # the log goes on
    assert (await past.trimmer.trim())["leases"] == 1
    await past.pass_days(40)
    await past.stage.add(fleet_stage.Node("newer", 8))
    await past.trimmer.trim()
    assert not await past.violations()
    for table in ("claims", "cleanup_proofs"):
        assert await past.value(f"SELECT count(*) FROM {table} WHERE allocation_id = '{id}'") == 0
    assert await past.value("SELECT count(*) FROM fleet_changes WHERE kind = 'free'") == 0
    assert await past.count("usage_segments") == 0, "it was never active"
    async with past.database.transaction() as tx:
        with pytest.raises(NotFound):
            await service.get(tx, SYSTEM, id)
        assert (await service.get(tx, SYSTEM, lives)).freed_at is None
        assert await receipts.of(tx, lives) is not None, "of what lives nothing goes"
    assert len(past.exported("events")) > rows[0]
    log = past.exported("fleet")
    assert [entry[0] for entry in log] == list(range(1, len(log) + 1))
    assert len(log) > rows[1]
    (freed,) = [entry for entry in log if entry[1] == "free"]
    assert freed[3] == id
    assert freed[8][0]["payload"] == proof
    assert [entry[7]["policy"] for entry in log if entry[1] == "claim"], "with their receipts"


async def test_a_lease_waits_until_its_proofs_are_exported(past: Past) -> None:
    await past.ended()
    await past.pass_days(100)
    for kind in past.trimmer.kinds:
        if kind.name == "leases":
            batch = await kind.trim(await past.value("SELECT now() - interval '90 days'"))
            assert batch.gone == 0
            assert batch.held == remains.WAIT


async def test_a_gang_goes_whole_or_not_at_all(past: Past) -> None:
    (outcome,) = await Committer(past.database).commit([past.stage.ask(8, "metal", nodes=2)])
    assert isinstance(outcome, Placed)
    lead, other = [member.id for member in outcome.lease.members]
    await past.stage.give_back(lead)
    await past.pass_days(100)
    assert "leases" not in await past.trimmer.trim(), "one of them is not clean"
    await past.stage.give_back(other)
    await past.pass_days(50)
    assert "leases" not in await past.trimmer.trim(), "one of them is over for 50 days"
    await past.pass_days(50)
    assert (await past.trimmer.trim())["leases"] == 2
    assert await past.count("allocations") == 0
    assert not await past.violations()


async def test_a_replica_that_knew_less_reads_the_fleet_anew(past: Past) -> None:
    slow, quick = Committer(past.database), Committer(past.database)
    await slow.commit([past.stage.ask(1)])
    for _ in range(3):
        await past.ended()
    (held,) = await quick.commit([past.stage.ask(4)])
    await past.pass_days(40)
    assert (await past.trimmer.trim())["fleet"] > 0
    assert isinstance(held, Placed)
    outcomes = [(await slow.commit([past.stage.ask(4)]))[0] for _ in range(3)]
    placed = [each.allocation.slot_ids for each in outcomes if isinstance(each, Placed)]
    assert len(placed) == 2, "16 GPUs, of which 5 are held: twice 4 fit, not thrice"
    assert not await past.violations()


async def test_fences_never_come_again(past: Past) -> None:
    await past.ended()
    head = await past.value("SELECT max(revision) FROM fleet_changes")
    await past.pass_days(100)
    await past.trimmer.trim()
    await past.pass_days(100)
    await past.trimmer.trim()
    async with past.database.transaction() as tx:
        assert await fleet.revision(tx) == head
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="revisions go on from it"):
        async with past.database.transaction() as tx:
            await tx.execute("DELETE FROM fleet_changes")
    lives = await past.lease()
    async with past.database.transaction() as tx:
        assert await fleet.revision(tx) == head + 1
        for table in ("allocations", "claims", "fleet_changes WHERE kind = 'claim'"):
            assert await tx.execute(f"DELETE FROM {table}") == 0, "even the system cannot"
        assert (await service.get(tx, SYSTEM, lives)).id == lives


async def test_a_placement_before_the_log_begins_is_not_decided_again_and_says_so(
    past: Past,
) -> None:
    old = await past.lease()
    for _ in range(3):
        await past.ended()
    await past.pass_days(40)
    await past.trimmer.trim()
    young = await past.lease()
    async with past.database.transaction() as tx:
        receipt = await receipts.of(tx, old)
        assert receipt is not None
        with pytest.raises(Gone, match="the fleet's log begins after revision"):
            await replaying.replay(tx, receipt)
        receipt = await receipts.of(tx, young)
        assert receipt is not None
        assert (await replaying.replay(tx, receipt)).same, "what was free then is known still"


async def test_events_stay_until_every_consumer_had_them(past: Past) -> None:
    async with past.database.transaction() as tx:
        head = await events.head(tx)
        await tx.execute("INSERT INTO event_consumers VALUES ('slow', 3, now(), now())")
    await past.pass_days(40)
    await past.trimmer.trim()
    assert await past.value("SELECT min(seq) FROM events") == 4
    assert await past.held("events") == "consumer slow has handled events up to 3"
    assert set(await past.violations()) == {"retention_overdue"}
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="those after it stay"):
        async with past.database.transaction() as tx:
            await tx.execute("UPDATE log_starts SET seq = 5 WHERE log = 'events'")
    async with past.database.transaction() as tx:
        await tx.execute("UPDATE event_consumers SET seq = $1", head)
    await past.trimmer.trim()
    assert not await past.violations()
    async with past.database.transaction() as tx:
        assert await tx.fetchval("SELECT count(*) FROM events") == 0
        assert await events.head(tx) == head, "an emptied log goes on where it was"
    assert len(past.exported("events")) == head


async def test_a_consumer_that_begins_with_an_emptied_log_misses_nothing(past: Past) -> None:
    await past.pass_days(40)
    await past.trimmer.trim()
    seen: list[str] = []

    async def notice(_tx: Tx, event: events.Event) -> None:
        seen.append(event.type)

    begin = consumers._begin  # pyright: ignore[reportPrivateUsage] # the loop never ends
    handle = consumers._handle  # pyright: ignore[reportPrivateUsage]
    await past.database.run(lambda tx: begin(tx, "new", Begin.START))
    await past.ended()
    await past.database.run(lambda tx: handle(tx, "new", notice, 100))
    assert "allocation.released" in seen
    assert not await past.violations()


@pytest.mark.parametrize("point", [trimming.EXPORTED, trimming.CUT, remains.FORGOTTEN])
async def test_what_is_cut_off_anywhere_is_done_once(
    past: Past, tmp_path: Path, point: Failpoint
) -> None:
    for _ in range(2):
        await past.ended()
    events_before = await past.count("events")
    await past.pass_days(100)
    arm(point)
    with pytest.raises(FailpointHit):
        await past.trimmer.trim()
    assert "FailpointHit" in str(await past.value("SELECT string_agg(held, '') FROM retentions")), (
        "the readout says why"
    )
    await past.ended()  # it goes on, and more is old enough when it is tried again
    await past.pass_days(100, "{} > now() - interval '1 day'")
    gone = await past.trimmer.trim()
    assert gone["events"] > 0
    assert not await past.violations()
    numbers = [entry[0] for entry in past.exported("events")]
    assert numbers == list(range(1, len(numbers) + 1)), "each once, none left out"
    assert len(numbers) > events_before
    fleet_lines = [entry[0] for entry in past.exported("fleet")]
    assert fleet_lines == list(range(1, len(fleet_lines) + 1))


async def audited(past: Past, *days_ago: int) -> None:
    """Entries of other days: their times are hashed, so they are made with another clock."""
    for ago in days_ago:
        async with past.database.transaction() as tx:
            tx.now -= timedelta(days=ago)
            audit.record(tx, SYSTEM, "thing.change", f"thing_{ago}")
        await past.exporter.catch_up()


async def faults(past: Past) -> list[str]:
    """What a client finds that compares log and export and takes nobody's word."""
    async with past.database.transaction() as tx:
        lines = await tx.fetch("SELECT audit_line(a) AS text FROM audit_entries a ORDER BY seq")
        start: int = await tx.fetchval("SELECT seq FROM log_starts WHERE log = 'audit'")
        claimed: int = await tx.fetchval("SELECT seq FROM audit_exports")
        inside = await tx.fetch("SELECT * FROM audit_faults(0, 1000000)")
    found = verifying.verify(
        Export(past.folder.as_uri()), [Line(row["text"], "the log") for row in lines],
        claimed=claimed, certificate=past.root.pem.encode(), to=Verified(), start=start,
    )  # fmt: skip
    return [fault.what for fault in found] + [str(row["fault"]) for row in inside]


@pytest.fixture
async def audit_past(past: Past) -> Past:
    """A log whose first three segments are older than it is kept."""
    await plane.as_superuser(
        past.url, "TRUNCATE audit_entries; UPDATE audit_head SET seq = 0, hash = '\\x00'"
    )
    await audited(past, 500, 490, 450, 20, 10)
    return past


async def test_the_audit_log_is_trimmed_once_exported_and_its_chain_goes_on(
    audit_past: Past,
) -> None:
    past = audit_past
    assert (await past.trimmer.trim())["audit"] == 3
    assert await past.value("SELECT min(seq) FROM audit_entries") == 4
    assert await faults(past) == []
    assert not await past.violations()
    await audited(past, 0)
    assert await faults(past) == []
    await plane.as_superuser(past.url, "DELETE FROM audit_entries WHERE seq = 4")
    assert "the entries from 4 to 4 are missing" in await faults(past)
    assert "audit_chain" in await past.violations()


async def test_an_emptied_audit_log_is_whole_and_goes_on(audit_past: Past) -> None:
    past = audit_past
    short = trimmer(past.database, past.url, past.folder, past.root, audit_kept_s=60)
    assert (await short.trim())["audit"] == 5
    assert await past.count("audit_entries") == 0
    assert await faults(past) == []
    assert not await past.violations()
    await audited(past, 0)
    assert await faults(past) == []
    await plane.as_superuser(past.url, "UPDATE audit_entries SET actor = 'mallory'")
    assert "audit_chain" in await past.violations()


async def test_what_is_not_over_there_as_it_is_here_is_not_trimmed(audit_past: Past) -> None:
    past = audit_past
    first = min(past.folder.glob("segments/**/*.jsonl"))
    kept = first.read_bytes()
    first.write_bytes(kept.replace(b"thing_500", b"thing_501"))
    with pytest.raises(Exception, match="is not what the log has from entry 1 on"):
        await past.trimmer.trim()
    assert "is not what the log has" in await past.held("audit")
    first.unlink()
    with pytest.raises(Exception, match="is not what the log has from entry 1 on"):
        await past.trimmer.trim()
    assert await past.count("audit_entries") == 5
    first.write_bytes(kept)
    assert (await past.trimmer.trim())["audit"] == 3


async def test_what_was_not_exported_stays_and_the_readout_says_why(audit_past: Past) -> None:
    past = audit_past
    async with past.database.transaction() as tx:
        tx.now -= timedelta(days=401)
        audit.record(tx, SYSTEM, "thing.change", "thing_late")
    elsewhere = trimmer(past.database, past.url, past.folder / "elsewhere", past.root)
    await elsewhere.trim()
    assert "nothing was exported to" in await past.held("audit")
    assert set(await past.violations()) == {"retention_overdue"}
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="is not exported up to 6"):
        async with past.database.transaction() as tx:
            await tx.execute("UPDATE log_starts SET seq = 6 WHERE log = 'audit'")


async def test_an_audit_trim_that_is_cut_off_is_done_again(audit_past: Past) -> None:
    past = audit_past
    arm(audit_trimming.CUT)
    with pytest.raises(FailpointHit):
        await past.trimmer.trim()
    assert await past.count("audit_entries") == 5
    assert (await past.trimmer.trim())["audit"] == 3
    assert await faults(past) == []
