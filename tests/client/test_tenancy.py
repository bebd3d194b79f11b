"""Quotas, money and organizations, as commands."""

import pytest

from .stand_in import Answer, Api, Cli


def test_quotas_show_what_is_used_and_what_is_free(here: Api, cli: Cli) -> None:
    scope = {"scope": "project", "scope_id": "project_1"}
    total = {**scope, "kind": "gpus", "family": None, "limit": None, "used": 3}
    h100 = {**scope, "kind": "gpus", "family": "h100", "limit": 8, "used": 3}
    nodes = {**scope, "kind": "nodes", "family": None, "limit": 2, "used": 2}
    spend = {**scope, "kind": "spend", "currency": "USD", "limit": 5 * 10**9, "used": 1_500_000}
    volumes = {**scope, "kind": "volumes", "limit": 2**41, "used": 0}
    kinds = [total, h100, nodes, spend, volumes]
    here.on("GET", "/v1/quotas", {"items": kinds, "next": None})
    ran = cli("quota", "ls", "--project", "main")
    assert here.calls[0].query == {"project": "main"}
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[1] == ["project", "project_1", "gpus", "all", "3", "–", "–"]
    assert lines[2] == ["project", "project_1", "gpus", "h100", "3", "8", "5"]
    assert lines[3] == ["project", "project_1", "nodes", "–", "2", "2", "0"]
    money = ["$1.50", "$5,000.00", "$4,998.50"]
    assert lines[4] == ["project", "project_1", "spend", "–", *money]
    assert lines[5] == ["project", "project_1", "volumes", "–", "0", "B", "2", "TiB", "2", "TiB"]


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
        (("--clusters", "4"), {"clusters_max": 4}, {"kind": "clusters"}),
        (("--volumes", "2TiB"), {"volumes_bytes_max": 2**41}, {"kind": "volumes"}),
        (("--volumes", "0"), {"volumes_bytes_max": 0}, {"kind": "volumes"}),
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
    "words",
    [
        (),
        ("8", "--nodes", "1"),
        ("--nodes", "1", "--spend", "2"),
        ("--spend", "-1"),
        ("--clusters", "1", "--volumes", "1GB"),
        ("8", "--volumes", "0"),
    ],
)
def test_a_quota_of_nothing_or_of_two_kinds_is_a_usage_error(
    here: Api, cli: Cli, words: tuple[str, ...]
) -> None:
    assert cli("quota", "set", "--tenant", "t", *words).code == 2
    assert here.calls == []


@pytest.mark.parametrize(
    "text", ["", "-1", "2T", "2Tb", "2tib", "TiB", "1e9", "0x10", "1_000", "½TiB", "٢TiB", "2 XB"]
)
def test_what_is_no_size_is_a_usage_error_that_says_what_is(here: Api, cli: Cli, text: str) -> None:
    ran = cli("quota", "set", "--tenant", "t", f"--volumes={text}")
    assert (ran.code, here.calls) == (2, [])
    assert "write it as 2TiB, 500GB or in bytes" in ran.err


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
