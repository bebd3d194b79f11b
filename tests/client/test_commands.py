"""Commands as people and scripts run them: output, exit codes, what is never shown."""

import json

import pytest

from .stand_in import TOKEN, Answer, Api, Cli, event

SKU = {
    "id": "sku_1",
    "name": "h100-8.slice",
    "shape": "gpu_slice",
    "family": "h100",
    "gpu_counts": [1, 2],
    "price_micros_per_gpu_hour": 2_490_000,
    "currency": "USD",
}
SLICE = {
    "id": "alloc_1",
    "tenant": "tenant_1",
    "project": "project_1",
    "sku": "h100-8.slice",
    "gpus": 2,
    "site": "site_1",
    "node": "node_1",
    "slots": ["slot_1", "slot_2"],
    "status": "placed",
    "desired": "active",
    "observed": "unknown",
    "execution": "running",
    "states": {
        "desired": {"state": "active", "at": "2026-01-01T00:00:00Z", "age_s": 4},
        "observed": {"state": "unknown", "at": None, "age_s": None, "reason": "no report yet"},
        "execution": {"state": "running", "age_s": 3, "workflow": "realize", "step": "provision"},
        "projected": {"state": "placed", "age_s": 3},
    },
    "price_micros_per_gpu_hour": 2_490_000,
    "currency": "USD",
    "created_at": "2026-01-01T00:00:00Z",
}
ALLOCATION = "/v1/allocations/alloc_1"


def test_a_list_is_a_table_with_money_in_its_currency(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/skus", {"items": [SKU], "next": None})
    ran = cli("sku", "ls")
    assert ran.code == 0
    assert "$2.49/GPU-h" in ran.out
    assert here.calls[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_json_is_what_the_api_gave(here: Api, cli: Cli) -> None:
    page = {"items": [SKU], "next": None}
    here.on("GET", "/v1/skus", page)
    assert json.loads(cli("sku", "ls", "--json").out) == page


def test_an_empty_list_says_what_to_do(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/tenants", {"items": [], "next": None})
    ran = cli("tenant", "ls")
    assert (ran.code, ran.out) == (0, "")
    assert "penstock tenant create" in ran.err


def test_a_token_is_alone_on_stdout(here: Api, cli: Cli) -> None:
    made = {"token": "penstock-join-x", "expires_at": "2026-01-01T00:00:00Z"}
    here.on("POST", "/v1/sites/site_1/token", Answer(201, made))
    assert cli("site", "token", "site_1").out == "penstock-join-x\n"


def test_a_price_is_sent_in_whole_micros(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/skus", Answer(201, SKU))
    argv = ("--shape", "gpu_slice", "--family", "h100", "--gpu-counts", "1", "2", "--price", "2.49")
    assert cli("sku", "create", "h100-8.slice", *argv).code == 0
    assert here.calls[0].body["price_micros_per_gpu_hour"] == 2_490_000
    assert here.calls[0].body["gpu_counts"] == [1, 2]


@pytest.mark.parametrize("price", ["0.0000001", "-1", "free", "NaN", "Infinity"])
def test_a_price_that_is_no_amount_is_a_usage_error(price: str, here: Api, cli: Cli) -> None:
    argv = ("--shape", "gpu_slice", "--family", "h100", "--gpu-counts", "1", f"--price={price}")
    assert cli("sku", "create", "x", *argv).code == 2
    assert here.calls == []


def test_four_states_stand_side_by_side_with_their_ages(here: Api, cli: Cli) -> None:
    here.on("GET", ALLOCATION, SLICE)
    lines = cli("allocation", "show", "alloc_1").out.splitlines()
    header = next(line for line in lines if "DESIRED" in line)
    assert header.split() == ["DESIRED", "OBSERVED", "EXECUTION", "PROJECTED"]
    assert any("4s ago" in line and "3s ago" in line for line in lines)
    assert any("realize.provision" in line and "no report yet" in line for line in lines)


def watched(here: Api, *statuses: str) -> None:
    here.on("POST", "/v1/allocations", Answer(201, SLICE))
    here.on("POST", f"{ALLOCATION}/release", Answer(202, {**SLICE, "status": "releasing"}))
    here.on("GET", ALLOCATION, *({**SLICE, "status": status} for status in statuses))
    past = [event(1, "allocation.placed", "alloc_1")]
    here.on("GET", f"{ALLOCATION}/timeline", {"items": past, "next": None})


def test_a_watched_creation_shows_each_step_and_ends_when_active(here: Api, cli: Cli) -> None:
    watched(here, "placed", "placed", "active")
    step = {"workflow": "realize", "step": "provision", "status": "done", "detail": "8 of 8"}
    here.emit(
        event(1, "allocation.placed", "alloc_1"),
        event(2, "allocation.stepped", "alloc_1", **step),
        event(3, "allocation.observed", "alloc_1"),
    )
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--gpus", "2", "--watch")
    assert ran.code == 0
    assert "realize.provision done: 8 of 8" in ran.out
    assert ran.out.count("allocation.placed") == 1
    assert "penstock allocation release alloc_1" in ran.err
    assert here.asked("GET", "/v1/events")[0].headers["last-event-id"] == "1"
    assert here.calls[0].body == {"project": "project_1", "sku": "h100-8.slice", "gpus": 2}


def test_a_watched_creation_that_fails_exits_with_1(here: Api, cli: Cli) -> None:
    watched(here, "placed", "failed")
    here.emit(event(2, "allocation.failed", "alloc_1", reason="the node refused"))
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--watch")
    assert ran.code == 1
    assert "the node refused" in ran.out


def test_a_watched_creation_with_json_leaves_one_document_on_stdout(here: Api, cli: Cli) -> None:
    watched(here, "active")
    ran = cli("allocation", "create", "--sku", "h100-8.slice", "--watch", "--json")
    assert json.loads(ran.out)["status"] == "active"
    assert "allocation.placed" in ran.err


@pytest.mark.parametrize(("status", "code"), [("released", 0), ("cleanup_blocked", 1)])
def test_a_watched_release_ends_with_proof_or_with_1(
    status: str, code: int, here: Api, cli: Cli
) -> None:
    watched(here, "releasing", status)
    here.emit(event(2, "slot.cleanup", "slot_1"), event(3, f"allocation.{status}", "alloc_1"))
    assert cli("allocation", "release", "alloc_1", "--watch").code == code


def test_events_with_json_are_lines(here: Api, cli: Cli) -> None:
    here.emit(*(event(n, "node.connected", "node_1") for n in (1, 2, 3)))
    ran = cli("events", "--json", "--limit", "2")
    assert [json.loads(line)["sequence"] for line in ran.out.splitlines()] == [1, 2]


def test_followed_events_begin_where_asked(here: Api, cli: Cli) -> None:
    here.emit(*(event(n, "node.connected", "node_1") for n in (1, 2, 3)))
    ran = cli("events", "--follow", "--after", "2", "--limit", "1")
    assert ran.out.split()[0] == "3"


def test_a_violated_invariant_exits_with_1(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/invariants", {"items": [{"name": "one_claim", "violations": 1}]})
    assert cli("invariants", "ls").code == 1


EVERY_CALL = (
    ("tenant", "ls"),
    ("tenant", "create", "it's"),
    ("tenant", "key", "create", "tenant_1", "--name", "ci"),
    ("project", "show", "project_1"),
    ("site", "node-token", "site_1", "--count", "3"),
    ("node", "drain", "node_1", "--reason", "fan"),
    ("slot", "cleanup", "slot_1"),
    ("allocation", "create", "--sku", "x", "--watch"),
    ("allocation", "release", "alloc_1", "--watch"),
    ("allocation", "receipt", "alloc_1"),
    ("usage", "ls", "--project", "project_1"),
    ("events", "--follow"),
    ("invariants", "ls"),
    ("user", "ls"),
    ("user", "invite", "a@b.example", "--role", "admin"),
    ("user", "disable", "user_1"),
    ("session", "revoke", "session_1"),
    ("key", "create", "ci", "--scope", "read", "--days", "7"),
)


@pytest.mark.parametrize("argv", EVERY_CALL, ids=" ".join)
def test_curl_shows_the_call_without_the_token_and_makes_none(
    argv: tuple[str, ...], here: Api, cli: Cli
) -> None:
    ran = cli(*argv, "--curl")
    assert ran.code == 0
    assert ran.out.startswith("curl ")
    assert "Bearer $PENSTOCK_TOKEN" in ran.out
    assert TOKEN not in ran.out + ran.err
    assert here.calls == []
