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


STOCK = {
    "sku": "h100-8.slice",
    "sku_id": "sku_1",
    "shape": "gpu_slice",
    "family": "h100",
    "site": "site_1",
    "site_name": "oslo",
    "price_micros_per_gpu_hour": 2_490_000,
    "currency": "USD",
    "sizes": [
        {"gpus": 1, "now": 9, "after_defragmentation": 9},
        {"gpus": 4, "now": 1, "after_defragmentation": 3},
    ],
}
MOVE = {
    "allocation": "alloc_1",
    "tenant": "tenant_1",
    "gpus": 4,
    "from_node": "node_1",
    "from_name": "n1",
    "to_node": "node_2",
    "to_name": "n2",
    "opens": "node_1",
    "cost_gpu_minutes": 300,
}
PLAN = {
    "family": "h100",
    "site": "site_1",
    "site_name": "oslo",
    "shape": "baremetal",
    "gpus": 8,
    "opened": 1,
    "cost_gpu_minutes": 300,
    "disruption_gpu_minutes": 60,
    "moves": [MOVE],
    "gains": [
        {"shape": "gpu_slice", "gpus": 1, "before": 77, "after": 77},
        {"shape": "baremetal", "gpus": 8, "before": 0, "after": 1},
    ],
}


def test_availability_has_a_line_for_each_size(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/availability", {"items": [STOCK], "next": None})
    lines = cli("availability", "--site", "oslo").out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["h100-8.slice", "oslo", "1", "9", "9", "$2.49/GPU-h"],
        ["h100-8.slice", "oslo", "4", "1", "3", "$2.49/GPU-h"],
    ]
    assert here.calls[0].query == {"site": "oslo"}


def test_a_plan_of_moves_says_what_opens_what_it_costs_and_that_nothing_moved(
    here: Api, cli: Cli
) -> None:
    here.on("GET", "/v1/defragmentation", PLAN)
    ran = cli("defragmentation", "plan", "--family", "h100", "--site", "oslo")
    assert ran.code == 0
    assert "opens    1 whole node with 8 GPUs of h100 at oslo" in ran.out
    assert "costs    300 GPU-minutes, 60 of them stopped" in ran.out
    assert ["1", "alloc_1", "tenant_1", "4", "n1", "n2", "n1", "300"] in [
        line.split() for line in ran.out.splitlines()
    ]
    assert "77" not in ran.out
    assert "nothing was moved" in ran.err
    assert here.calls[0].query == {"family": "h100", "site": "oslo"}


def test_a_plan_without_moves_says_so(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/defragmentation", {**PLAN, "opened": 0, "moves": [], "shape": "gpu_slice"})
    ran = cli("defragmentation", "plan", "--family", "h100", "--site", "oslo", "--gpus", "8")
    assert (ran.code, ran.out) == (0, "")
    assert "no move would open more slices with 8 GPUs of h100 at oslo" in ran.err


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


QUEUED = {
    **SLICE,
    "status": "queued",
    "site": None,
    "node": None,
    "slots": [],
    "estimate": {
        "position": 3,
        "at": "2999-01-01T00:00:00Z",
        "waiting_for": "leases",
        "leases": ["alloc_0"],
        "leases_of_others": 2,
    },
}


def test_what_may_wait_says_how_and_how_long(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/allocations", Answer(201, QUEUED))
    argv = ("--sku", "x", "--queue-for", "12h", "--priority", "60", "--ends", "2999-01-01T00:00Z")
    ran = cli("allocation", "create", *argv)
    assert ran.code == 0
    assert here.calls[0].body == {
        "project": "project_1", "sku": "x", "queue": True, "queue_for_s": 43_200, "priority": 60,
        "ends_at": "2999-01-01T00:00Z",
    }  # fmt: skip
    assert "number 3 in line, waits for leases to end (alloc_0, 2 of other tenants)" in ran.out
    assert "2999-01-01" in ran.out
    assert "penstock allocation release alloc_1" in ran.err


@pytest.mark.parametrize("length", ["", "12", "h", "-1h", "1w", "1.5h", "9" * 10 + "s"])
def test_a_wait_that_is_no_length_of_time_is_a_usage_error(
    length: str, here: Api, cli: Cli
) -> None:
    ran = cli("allocation", "create", "--sku", "x", f"--queue-for={length}")
    assert ran.code == 2
    assert here.calls == []


def test_a_list_shows_places_in_line(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/allocations", {"items": [QUEUED, {**SLICE, "estimate": None}]})
    lines = cli("allocation", "ls").out.splitlines()
    at = lines[0].split().index("LINE")
    assert [line.split()[at] for line in lines[1:]] == ["3", "–"]


@pytest.mark.parametrize(("status", "code"), [("active", 0), ("expired", 1)])
def test_a_watched_wait_ends_when_active_or_over(
    status: str, code: int, here: Api, cli: Cli
) -> None:
    here.on("POST", "/v1/allocations", Answer(201, QUEUED))
    here.on("GET", ALLOCATION, QUEUED, {**SLICE, "status": "placed"}, {**SLICE, "status": status})
    past = [event(1, "allocation.queued", "alloc_1")]
    here.on("GET", f"{ALLOCATION}/timeline", {"items": past, "next": None})
    here.emit(
        event(1, "allocation.queued", "alloc_1"),
        event(2, "allocation.placed", "alloc_1"),
        event(3, "allocation.observed", "alloc_1"),
    )
    ran = cli("allocation", "create", "--sku", "x", "--queue", "--watch")
    assert ran.code == code
    assert ran.out.count("allocation.queued") == 1
    assert "allocation.placed" in ran.out


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


def test_a_violated_invariant_says_what_was_found(here: Api, cli: Cli) -> None:
    found = [{"node": "node_1", "why": "it has 65 GPUs\x1b[2J"}]
    item = {"name": "fleet_row_impossible", "violations": 1, "found": found}
    here.on("GET", "/v1/invariants", {"items": [item]})
    told = cli("invariants", "ls").err
    assert "fleet_row_impossible: node: node_1, why: it has 65 GPUs\\x1b[2J" in told


def test_terms_are_sent_only_if_given(here: Api, cli: Cli) -> None:
    watched(here, "active")
    terms = (
        "--strategy", "spread", "--residency", "eu", "country:de", "--price-max", "2.49",
        "--apart-from", "alloc_2", "alloc_3",
    )  # fmt: skip
    assert cli("allocation", "create", "--sku", "x", *terms).code == 0
    assert here.calls[-1].body == {
        "project": "project_1", "sku": "x", "strategy": "spread",
        "residency": ["eu", "country:de"], "price_micros_max": 2_490_000,
        "apart_from": ["alloc_2", "alloc_3"],
    }  # fmt: skip
    assert cli("allocation", "create", "--sku", "x").code == 0
    assert here.calls[-1].body == {"project": "project_1", "sku": "x"}
    assert cli("allocation", "create", "--sku", "x", "--price-max", "much").code == 2


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
         "strategy": "pack", "price_micros_max": 1_000_000},
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
    ("slot", "cleanup", "slot_1"),
    ("allocation", "create", "--sku", "x", "--watch"),
    ("allocation", "release", "alloc_1", "--watch"),
    ("allocation", "receipt", "alloc_1"),
    ("allocation", "receipt", "alloc_1", "--replay"),
    ("availability", "--sku", "h100-8.slice", "--site", "site-a"),
    ("defragmentation", "plan", "--family", "h100", "--site", "site-a", "--gpus", "4"),
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


def test_quotas_show_what_is_used_and_what_is_free(here: Api, cli: Cli) -> None:
    scope = {"scope": "project", "scope_id": "project_1"}
    total = {**scope, "kind": "gpus", "family": None, "limit": None, "used": 3}
    h100 = {**scope, "kind": "gpus", "family": "h100", "limit": 8, "used": 3}
    nodes = {**scope, "kind": "nodes", "family": None, "limit": 2, "used": 2}
    spend = {**scope, "kind": "spend", "currency": "USD", "limit": 5 * 10**9, "used": 1_500_000}
    here.on("GET", "/v1/quotas", {"items": [total, h100, nodes, spend], "next": None})
    ran = cli("quota", "ls", "--project", "main")
    assert here.calls[0].query == {"project": "main"}
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[1] == ["project", "project_1", "gpus", "all", "3", "–", "–"]
    assert lines[2] == ["project", "project_1", "gpus", "h100", "3", "8", "5"]
    assert lines[3] == ["project", "project_1", "nodes", "–", "2", "2", "0"]
    money = ["$1.50", "$5,000.00", "$4,998.50"]
    assert lines[4] == ["project", "project_1", "spend", "–", *money]


def test_a_quota_is_set_and_removed_with_the_verbs_of_the_api(here: Api, cli: Cli) -> None:
    line = {"scope": "tenant", "scope_id": "t", "family": "h100", "gpus_max": 8, "gpus_used": 0}
    here.on("PUT", "/v1/quotas", line)
    here.on("DELETE", "/v1/quotas", {**line, "gpus_max": None})
    assert cli("quota", "set", "8", "--tenant", "t", "--family", "h100").code == 0
    assert cli("quota", "rm", "--tenant", "t", "--family", "h100").code == 0
    assert here.calls[0].body == {"tenant": "t", "family": "h100", "gpus_max": 8}
    assert here.calls[1].query == {"tenant": "t", "family": "h100"}


@pytest.mark.parametrize(
    ("words", "body", "query"),
    [
        (("--nodes", "4"), {"nodes_max": 4}, {"kind": "nodes"}),
        (("--vlans", "0"), {"vlans_max": 0}, {"kind": "vlans"}),
        (
            ("--spend", "5000.01", "--currency", "EUR"),
            {"spend_micros_max": 5_000_010_000, "currency": "EUR"},
            {"kind": "spend", "currency": "EUR"},
        ),
    ],
)
def test_every_kind_of_quota_is_set_and_removed(
    here: Api, cli: Cli, words: tuple[str, ...], body: dict[str, object], query: dict[str, str]
) -> None:
    here.on("PUT", "/v1/quotas", {"scope": "tenant", "used": 0})
    here.on("DELETE", "/v1/quotas", {"scope": "tenant", "used": 0})
    assert cli("quota", "set", "--tenant", "t", *words).code == 0
    removed = ("--kind", words[0].removeprefix("--"), *words[2:])
    assert cli("quota", "rm", "--tenant", "t", *removed).code == 0
    assert here.calls[0].body == {"tenant": "t", **body}
    assert here.calls[1].query == {"tenant": "t", **query}


@pytest.mark.parametrize(
    "words", [(), ("8", "--nodes", "1"), ("--nodes", "1", "--spend", "2"), ("--spend", "-1")]
)
def test_a_quota_of_nothing_or_of_two_kinds_is_a_usage_error(
    here: Api, cli: Cli, words: tuple[str, ...]
) -> None:
    assert cli("quota", "set", "--tenant", "t", *words).code == 2
    assert here.calls == []


def test_a_quota_of_two_scopes_is_a_usage_error(here: Api, cli: Cli) -> None:
    ran = cli("quota", "set", "8", "--tenant", "t", "--project", "p")
    assert ran.code == 2
    assert here.calls == []


def test_a_credit_is_exact_and_a_balance_is_money(here: Api, cli: Cli) -> None:
    credit = {"id": "credit_1", "tenant": "tenant_1", "amount_micros": 250_010_000}
    here.on("POST", "/v1/tenants/tenant_1/credits", Answer(201, {**credit, "currency": "EUR"}))
    paid = ("tenant", "credit", "tenant_1", "--currency", "EUR", "--reason", "paid")
    ran = cli(*paid, "--amount", "250.01")
    assert "€250.01" in ran.out
    body = {"amount_micros": 250_010_000, "currency": "EUR", "reason": "paid"}
    assert here.calls[0].body == body
    assert cli(*paid, "--amount", "0.0000001").code == 2
    balance = {"tenant": "tenant_1", "currency": "EUR", "balance_micros": -1_500_000,
               "burn_micros_per_hour": 7_200_000}  # fmt: skip
    here.on("GET", "/v1/tenants/tenant_1/balance", balance)
    shown = cli("tenant", "balance", "tenant_1").out
    assert "-€1.50" in shown
    assert "€7.20/h" in shown


def test_organizations_are_made_and_projects_put_into_them(here: Api, cli: Cli) -> None:
    made = {"id": "org_1", "tenant": "tenant_1", "name": "research"}
    here.on("POST", "/v1/organizations", Answer(201, made))
    here.on("POST", "/v1/projects", Answer(201, {"id": "project_1", "name": "p"}))
    here.on("GET", "/v1/organizations", {"items": [made], "next": None})
    assert "--organization org_1" in cli("organization", "create", "research").err
    assert cli("project", "create", "p", "--organization", "research").code == 0
    assert here.calls[1].body == {"name": "p", "organization": "research"}
    assert "research" in cli("organization", "ls").out
