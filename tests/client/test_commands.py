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


def test_a_violated_invariant_says_what_was_found(here: Api, cli: Cli) -> None:
    found = [{"node": "node_1", "why": "it has 65 GPUs\x1b[2J"}]
    item = {"name": "fleet_row_impossible", "violations": 1, "found": found}
    here.on("GET", "/v1/invariants", {"items": [item]})
    told = cli("invariants", "ls").err
    assert "fleet_row_impossible: node: node_1, why: it has 65 GPUs\\x1b[2J" in told


def test_nodes_are_listed_with_how_much_is_wrong_with_them(here: Api, cli: Cli) -> None:
    xid = {"check": "gpu.xid", "subject": "GPU-1", "detail": "XID\x1b 79", "since": "2026"}
    gone = {"kind": "not_held", "allocation": "alloc_1", "runtime": "", "since": "2026"}
    unwell = {"healthy": False, "problems": [xid], "discrepancies": [gone]}
    node = {"id": "node_1", "name": "n", "health": unwell}
    fine = {"id": "node_2", "name": "m", "health": {"healthy": True}}
    here.on("GET", "/v1/nodes", {"items": [node, fine]})
    listed = cli("node", "ls").out.splitlines()
    assert ["2 wrong" in line for line in listed] == [False, True, False]
    here.on("GET", "/v1/nodes/node_1", node)
    shown = cli("node", "show", "node_1").out
    assert "gpu.xid" in shown
    assert "not_held" in shown
    assert "\x1b" not in shown


def loop(name: str, outcome: str, error: str = "") -> dict[str, object]:
    return {
        "name": name, "description": f"Does {name}.", "plane": "central", "replica": "central-1",
        "running": False, "last_began_at": "2026-11-18T12:00:00Z", "last_ended_at": None,
        "last_seconds": 0.25, "outcome": outcome, "error": error, "runs": 7, "failures": 2,
    }  # fmt: skip


def test_loops_are_listed_with_what_they_do_and_how_they_went(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/loops", {"items": [loop("sweeping", "ok")]})
    ran = cli("platform", "loops")
    assert (ran.code, ran.err) == (0, "")
    line = ran.out.splitlines()[1]
    for shown in ("sweeping", "ok", "0.250s", "7", "2", "Does sweeping."):
        assert shown in line


def test_a_loop_that_failed_exits_with_1_and_says_why(here: Api, cli: Cli) -> None:
    items = [loop("sweeping", "waiting"), loop("absence", "failed", "no\x1b[2J room")]
    here.on("GET", "/v1/loops", {"items": items})
    ran = cli("platform", "loops")
    assert ran.code == 1
    assert "absence of central-1: no\\x1b[2J room" in ran.err


CHANGES: dict[tuple[str, ...], tuple[str, str, dict[str, object]]] = {
    ("node", "tag", "n", "a", "b"): ("PATCH", "/v1/nodes/n", {"tags": ["a", "b"]}),
    ("node", "tag", "n"): ("PATCH", "/v1/nodes/n", {"tags": []}),
    ("node", "reserve", "n", "t"): ("PATCH", "/v1/nodes/n", {"reserved_for": "t"}),
    ("node", "unreserve", "n"): ("PATCH", "/v1/nodes/n", {"reserved_for": None}),
    ("node", "price", "n", "2.49"): (
        "PATCH", "/v1/nodes/n", {"price_micros_per_gpu_hour": 2_490_000},
    ),
    ("node", "leaf", "n", "leaf-1"): ("PATCH", "/v1/nodes/n", {"leaf": "leaf-1"}),
    ("node", "leaf", "n"): ("PATCH", "/v1/nodes/n", {"leaf": None}),
    ("site", "tag", "s", "eu"): ("PATCH", "/v1/sites/s", {"tags": ["eu"]}),
    ("tenant", "placement", "set", "t", "--sites", "a", "b", "--price-max", "1"): (
        "PUT", "/v1/tenants/t/placement",
        {"sites": ["a", "b"], "families": None, "skus": None, "images": None, "residency": [],
         "strategy": "pack", "price_micros_max": 1_000_000, "weight": 1},
    ),
    ("tenant", "placement", "set", "t", "--weight", "3"): (
        "PUT", "/v1/tenants/t/placement",
        {"sites": None, "families": None, "skus": None, "images": None, "residency": [],
         "strategy": "pack", "price_micros_max": None, "weight": 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize("argv", CHANGES, ids=" ".join)
def test_a_change_names_what_it_changes_and_nothing_else(
    argv: tuple[str, ...], here: Api, cli: Cli
) -> None:
    method, path, body = CHANGES[argv]
    here.on(method, path, {"id": "x"})
    assert cli(*argv).code == 0
    assert here.asked(method, path)[0].body == body


EVERY_CALL = (
    ("tenant", "ls"),
    ("tenant", "create", "it's"),
    ("tenant", "key", "create", "tenant_1", "--name", "ci"),
    ("tenant", "suspend", "tenant_1", "--reason", "unpaid"),
    ("tenant", "resume", "tenant_1", "--reason", "paid"),
    ("tenant", "offboard", "tenant_1", "--reason", "left"),
    ("tenant", "onboarding", "onboarding_1"),
    ("tenant", "network", "show", "tenant_1"),
    ("tenant", "network", "expand", "tenant_1", "--vlans", "2", "--ipv4", "24", "26"),
    ("pool", "ls"),
    ("pool", "show", "vlans"),
    ("pool", "create", "vlans", "--kind", "vlan", "--range", "100-199"),
    ("template", "ls"),
    ("template", "show", "small"),
    ("tenant", "placement", "show", "tenant_1"),
    ("tenant", "placement", "set", "tenant_1", "--sites", "site_1"),
    ("project", "show", "project_1"),
    ("site", "create", "s", "--tags", "eu", "country:de"),
    ("node", "tag", "node_1", "hall:2"),
    ("site", "node-token", "site_1", "--count", "3"),
    ("node", "drain", "node_1", "--reason", "fan"),
    ("node", "ls", "--retired"),
    ("node", "retire", "node_1", "--reason", "it burned"),
    ("node", "replace", "node_1"),
    ("node", "rejoin", "node_1"),
    ("reenrolment", "ls", "--node", "node_1"),
    ("reenrolment", "show", "reenrolment_1"),
    ("reenrolment", "approve", "reenrolment_1", "--reason", "saw it"),
    ("reenrolment", "reject", "reenrolment_1", "--reason", "never heard of it"),
    ("slot", "cleanup", "slot_1"),
    ("allocation", "create", "--sku", "x", "--watch"),
    ("allocation", "release", "alloc_1", "--watch"),
    ("allocation", "receipt", "alloc_1"),
    ("allocation", "receipt", "alloc_1", "--replay"),
    ("availability", "--sku", "h100-8.slice", "--site", "site-a"),
    ("defragmentation", "plan", "--family", "h100", "--site", "site-a", "--gpus", "4"),
    ("usage", "ls", "--project", "project_1"),
    ("dispute", "ls"),
    ("dispute", "ls", "--all"),
    ("dispute", "show", "dispute_1"),
    ("dispute", "settle", "dispute_1", "--reason", "asked", "--at", "2026-11-18T12:00:00Z"),
    ("events", "--follow"),
    ("invariants", "ls"),
    ("platform", "loops"),
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
