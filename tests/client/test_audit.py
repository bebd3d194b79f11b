"""`penstock audit`: the list, the export, and both ways to verify."""

import json
from pathlib import Path

from .stand_in import Api, Cli
from .test_chains import lines

ENTRY = {
    "seq": 7, "at": "2026-01-01T00:00:00Z", "tenant": None, "actor": "key:key_1",
    "action": "quota.set", "subject": "tenant_1", "reason": "", "correlation_id": "c",
    "detail": {"gpus_max": 9, "before": {"gpus_max": 8}}, "hash": "00",
}  # fmt: skip
POINT = {"seq": 9, "hash": "00"}
EXPORT = {**POINT, "at": None, "fault": ""}


def verification(**changes: object) -> dict[str, object]:
    return {"after": 0, "until": POINT, "head": POINT, "start": {"seq": 0, "hash": "00"},
            "faults": [], "export": EXPORT,
            "next": None, **changes}  # fmt: skip


def test_entries_are_listed_with_what_was_before(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/audit", {"items": [ENTRY], "next": "more"})
    ran = cli(
        "audit", "ls", "--actor", "key:key_1", "--since", "2026-01-01T00:00:00Z", "--limit", "1"
    )
    assert ran.code == 0
    assert "before: gpus_max: 8" in ran.out
    assert "these are the newest 1" in ran.err
    (call,) = here.asked("GET", "/v1/audit")
    assert call.query == {
        "actor": "key:key_1", "since": "2026-01-01T00:00:00Z", "order": "newest", "limit": "1",
    }  # fmt: skip


def test_an_export_is_the_lines_of_every_page(here: Api, cli: Cli) -> None:
    one, two = (line.text for line in lines(2))
    here.on("GET", "/v1/audit/lines", {"items": [one], "next": "c"}, {"items": [two], "next": None})
    assert cli("audit", "export", "--after", "0").out == f"{one}\n{two}\n"
    assert [call.query.get("cursor") for call in here.calls] == [None, "c"]


def test_the_platform_verifies_part_after_part(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/audit/verify", verification(next=5), verification(after=5))
    ran = cli("audit", "verify")
    assert (ran.code, ran.out) == (0, "")
    assert "9 entries, of which 9 are exported: all as they were" in ran.err
    assert [call.query["after"] for call in here.calls] == ["0", "5"]


def test_a_fault_that_the_platform_finds_exits_with_1(here: Api, cli: Cli) -> None:
    found = [{"seq": 3, "fault": "it is not what its hash was made from"}]
    stuck = {**EXPORT, "fault": "entry 3 was exported with another hash than it has now"}
    here.on("GET", "/v1/audit/verify", verification(faults=found, export=stuck))
    ran = cli("audit", "verify")
    assert ran.code == 1
    assert "entry 3: it is not what its hash was made from" in ran.out
    assert "the export: entry 3 was exported with another hash" in ran.out


def test_against_an_export_every_hash_is_computed_here(here: Api, cli: Cli, tmp_path: Path) -> None:
    segment = tmp_path / "audit" / "segments" / "2026" / "01" / "01" / f"{1:020}.jsonl"
    segment.parent.mkdir(parents=True)
    segment.write_text("".join(f"{line.text}\n" for line in lines(3)))
    last = json.loads(lines(3)[-1].text)
    checkpoint = {"seq": 3, "hash": last["hash"], "signature": "eA=="}
    (tmp_path / "audit" / "checkpoint.json").write_text(json.dumps(checkpoint))
    here.on("GET", "/v1/audit/verify", verification(export={**EXPORT, "seq": 3}))
    here.on("GET", "/v1/audit/lines", {"items": [each.text for each in lines(4)], "next": None})
    ran = cli("audit", "verify", "--against", str(tmp_path / "audit"))
    assert ran.code == 0, ran.out
    assert "4 entries in the log, 3 in the export" in ran.err
    assert "no --ca" in ran.err
    here.on("GET", "/v1/audit/lines", {"items": [each.text for each in lines(2)], "next": None})
    ran = cli("audit", "verify", "--against", str(tmp_path / "audit"), "--json")
    assert ran.code == 1
    (fault,) = json.loads(ran.out)["faults"]
    assert fault["what"] == (
        "the entries from 3 to 3 were exported; 1 of them are not in it any more"
    )


def test_what_cannot_be_read_is_said(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/audit/verify", verification())
    assert "there is no folder" in cli("audit", "verify", "--against", "/nowhere/at/all").err
    assert cli("audit", "verify", "--ca", "ca.pem").code == 2
    assert "cannot be read" in cli("audit", "verify", "--against", "nonsense://x").err
