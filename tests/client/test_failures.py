"""What is told when it does not work, and the exit code that scripts can trust."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_client import processes

from .stand_in import TOKEN, Answer, Api, Cli

UNAVAILABLE = {
    "type": "about:blank",
    "title": "Conflict",
    "status": 409,
    "code": "sku_unavailable",
    "detail": "no node can hold 8 GPUs of h100-8.slice",
    "suggestion": "ask for 4 GPUs",
    "correlation_id": "c-9",
    "explanation": {
        "nodes": 12,
        "filters": [
            {"filter": "not approved", "removed": 3},
            {"filter": "too few free GPUs", "removed": 9},
        ],
    },
}


def test_no_capacity_says_why_and_what_would_fit(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/allocations", Answer(409, UNAVAILABLE))
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--gpus", "8")
    assert (ran.code, ran.out) == (1, "")
    assert "no node can hold 8 GPUs" in ran.err
    assert any(line.split() == ["too", "few", "free", "GPUs", "9"] for line in ran.err.splitlines())
    assert "try: ask for 4 GPUs" in ran.err
    assert "c-9" in ran.err


def test_counts_by_rule_are_a_table_too(here: Api, cli: Cli) -> None:
    rules = {"rejections": {"not approved": 3, "too few free GPUs": 9}}
    here.on("POST", "/v1/allocations", Answer(409, {**UNAVAILABLE, "explanation": rules}))
    ran = cli("allocation", "create", "--sku", "h100-8.slice")
    assert any(line.split() == ["not", "approved", "3"] for line in ran.err.splitlines())


def test_changes_and_near_misses_are_tables(here: Api, cli: Cli) -> None:
    change = {
        "kind": "another_family", "what": "with l40s GPUs, as l40s.slice", "gpus": 2, "nodes": 1,
        "site": "site_1", "family": "l40s", "sku": "l40s.slice", "node": None,
    }  # fmt: skip
    why = "1 of its 8 GPUs is leased"
    near = {"node_id": "node_1", "site_id": "site_1", "rule": "free_enough", "why": why}
    told = {"near": [{**near, "missing": 1}], "changes": [change]}
    refused = {**UNAVAILABLE, "never": False, "explanation": told}
    here.on("POST", "/v1/allocations", Answer(409, refused))
    lines = cli("allocation", "create", "--sku", "h100-8.slice").err.splitlines()
    (shown,) = [line for line in lines if "l40s.slice" in line]
    assert shown.split() == [
        "another_family", "with", "l40s", "GPUs,", "as", "l40s.slice", "2", "1", "site_1", "l40s",
        "l40s.slice", "–",
    ]  # fmt: skip
    assert any(why in line and "node_1" in line for line in lines)


def test_with_json_the_problem_is_json_on_stderr(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/allocations", Answer(409, UNAVAILABLE))
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert json.loads(ran.err) == UNAVAILABLE


def test_invalid_fields_are_named(here: Api, cli: Cli) -> None:
    problem = {"title": "Invalid", "status": 422, "code": "invalid", "detail": "not valid"}
    wrong = {**problem, "errors": [{"field": "name", "message": "is too long"}]}
    here.on("POST", "/v1/tenants", Answer(422, wrong))
    assert "name: is too long" in cli("tenant", "create", "x").err


def test_an_unreachable_api_exits_with_3(here: Api, cli: Cli) -> None:
    here.close()
    ran = cli("tenant", "ls")
    assert ran.code == 3
    assert here.url in ran.err


def test_no_api_says_what_to_do(cli: Cli) -> None:
    ran = cli("tenant", "ls")
    assert ran.code == 3
    assert "no API is known: run `penstock up`, or `penstock context add`" in ran.err


@pytest.mark.parametrize(
    ("argv", "advice"),
    [
        (("allocaton", "ls"), "penstock allocation"),
        (("tenant", "lss"), '"ls"'),
        (("tenant", "ls", "--jsn"), "--json"),
        (("slot", "ls"), "--node"),
        (("allocation", "create", "--gpus", "two", "--sku", "x"), "two"),
        (("--json", "tenant", "ls"), "after the command"),
    ],
)
def test_a_usage_error_exits_with_2_and_suggests(
    argv: tuple[str, ...], advice: str, here: Api, cli: Cli
) -> None:
    ran = cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert advice in ran.err
    assert here.calls == []


def test_control_characters_never_reach_the_terminal(here: Api, cli: Cli) -> None:
    evil = "x\x1b]0;owned\x07\x9b2J\u202egnp\n\r\x7f[red]"
    tenant = {"id": evil, "name": evil, "status": evil, "created_at": evil}
    problem = {"title": evil, "code": evil, "detail": evil, "suggestion": evil}
    here.on("GET", "/v1/tenants", {"items": [tenant], "next": None})
    here.on("GET", "/v1/tenants/x", tenant)
    here.on("GET", "/v1/tenants/y", Answer(400, problem))
    here.on("GET", "/v1/tenants/z", Answer(400, {**problem, "explanation": {evil: [{evil: evil}]}}))
    for argv in (["ls"], ["ls", "--json"], ["show", "x"], ["show", "y"], ["show", "z"]):
        ran = cli("tenant", *argv)
        shown = (ran.out + ran.err).replace("\n", "")
        assert "owned" in shown
        assert shown.isprintable(), argv


def test_the_token_is_never_part_of_an_error(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/tenants", Answer(401, {"title": "Not authenticated", "code": "x"}))
    assert TOKEN not in cli("tenant", "ls").err


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from penstock_client import main; main.run(['--help']);"
        "print([m for m in ('cyclopts', 'rich', 'httpx2', 'penstock') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("argv", "process"),
    [
        (["up", "--nodes", "3"], True),
        (["central"], True),
        (["site"], True),
        (["site", "--data", "x"], True),
        (["site", "run", "--help"], True),
        (["site", "workflow", "ls"], True),
        (["site", "--help"], False),
        (["site", "ls"], False),
        (["site", "token", "site_1"], False),
        (["node"], False),
    ],
)
def test_a_process_is_told_from_a_noun(argv: list[str], process: bool) -> None:
    assert processes.is_asked(argv[0], argv[1:]) == process


def test_a_process_is_found_through_its_entry_point(
    home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = home / "hello-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hello\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[penstock.commands]\nhello = hello_command:run\n")
    (home / "hello_command.py").write_text("def run(*, times: int) -> int:\n    return times\n")
    monkeypatch.setattr("sys.path", [str(home), *sys.path])
    assert cli("hello", "--times", "7").code == 7
    assert cli("hello", "--tmes", "7").code == 2


def test_a_process_that_is_not_installed_says_what_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])
    ran = cli("up")
    assert ran.code == 2
    assert "penstock-control" in ran.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_nouns(shell: str, cli: Cli) -> None:
    ran = cli("completion", shell)
    assert ran.code == 0
    assert "allocation" in ran.out


def test_completion_needs_a_shell(cli: Cli) -> None:
    assert cli("completion").code == 2
