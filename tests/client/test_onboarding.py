"""`penstock tenant onboard` and its like: files read strictly, steps told as they happen."""

import json
from pathlib import Path

import pytest

from penstock_client import errors, files

from .stand_in import Answer, Api, Cli, event

FILE = """
tenant: acme
admin: {email: ada@acme.example}
networks:
  - {vlans: 2, ipv4: [24]}
"""
ONBOARDING = "/v1/onboardings/onboarding_1"


def onboarding(status: str, *, changed: bool = True) -> dict[str, object]:
    return {
        "id": "onboarding_1", "name": "acme", "tenant": "tenant_1", "admin": "ada@acme.example",
        "status": status, "reason": "" if status == "done" else "network: vlans has 0 left",
        "steps": [
            {"name": name, "status": "done", "detail": name, "changed": changed, "at": None}
            for name in ("domain", "admin")
        ],
    }  # fmt: skip


def served(here: Api, end: str, *, changed: bool = True) -> None:
    """An API where the onboarding takes a step while it is watched, and ends."""
    here.on("POST", "/v1/onboardings", Answer(202, onboarding("running")))
    here.on("GET", ONBOARDING, onboarding("running"), onboarding(end, changed=changed))
    created = event(1, "onboarding.created", "onboarding_1")
    here.on("GET", f"{ONBOARDING}/timeline", {"items": [created], "next": None})
    stepped = event(
        2, "onboarding.stepped", "onboarding_1", step="domain", status="done", detail="made"
    )
    here.emit(created, stepped)
    invitation = {"email": "ada@acme.example", "role": "admin", "url": "https://x/invitation?t=1"}
    here.on("POST", "/v1/users/invite", Answer(201, invitation))


@pytest.fixture
def file(home: Path) -> str:
    (home / "tenant.yaml").write_text(FILE)
    return "tenant.yaml"


def test_steps_are_told_and_the_first_admins_link_comes_last(
    here: Api, cli: Cli, file: str
) -> None:
    served(here, "done")
    ran = cli("tenant", "onboard", "--file", file)
    assert ran.code == 0, ran
    assert "domain done: made" in ran.out
    assert ran.out.rstrip().endswith("https://x/invitation?t=1")
    assert here.asked("POST", "/v1/onboardings")[0].body == {
        "tenant": "acme",
        "admin": {"email": "ada@acme.example"},
        "networks": [{"vlans": 2, "ipv4": [24]}],
    }
    (asked,) = here.asked("POST", "/v1/users/invite")
    assert asked.body == {"email": "ada@acme.example", "role": "admin", "tenant": "tenant_1"}


def test_who_was_in_before_is_not_invited_again(here: Api, cli: Cli, file: str) -> None:
    served(here, "done", changed=False)
    assert cli("tenant", "onboard", "--file", file).code == 0
    assert here.asked("POST", "/v1/users/invite") == []


def test_what_was_undone_is_a_failure_that_says_why(here: Api, cli: Cli, file: str) -> None:
    served(here, "undone")
    ran = cli("tenant", "onboard", "--file", file)
    assert ran.code == 1
    assert "vlans has 0 left" in ran.out
    assert here.asked("POST", "/v1/users/invite") == []


def test_json_is_the_onboarding_alone(here: Api, cli: Cli, file: str) -> None:
    served(here, "done")
    ran = cli("tenant", "onboard", "--file", file, "--json")
    assert json.loads(ran.out) == onboarding("done")
    assert "penstock user invite ada@acme.example" in ran.err
    assert here.asked("POST", "/v1/users/invite") == []


def test_it_need_not_be_watched(here: Api, cli: Cli, file: str) -> None:
    served(here, "done")
    assert cli("tenant", "onboard", "--file", file, "--no-watch").code == 0
    assert here.asked("GET", "/v1/events") == []


def test_curl_shows_the_file_as_json(here: Api, cli: Cli, file: str) -> None:
    ran = cli("tenant", "onboard", "--file", file, "--curl")
    assert '"vlans": 2' in ran.out
    assert here.calls == []


def test_an_offboarding_is_watched_through_its_leases(here: Api, cli: Cli) -> None:
    def tenant(status: str) -> dict[str, object]:
        return {"id": "tenant_1", "name": "acme", "status": status}

    here.on("POST", "/v1/tenants/acme/offboard", Answer(202, tenant("offboarding")))
    here.on("GET", "/v1/tenants/tenant_1", tenant("offboarding"), tenant("offboarded"))
    began = event(5, "tenant.offboarding", "tenant_1", reason="left")
    past = [event(1, "tenant.created", "tenant_1"), began]
    here.on("GET", "/v1/tenants/tenant_1/timeline", {"items": past, "next": None})
    foreign = {**event(7, "allocation.released", "alloc_9"), "tenantid": "tenant_2"}
    here.emit(
        began, event(6, "allocation.releasing", "alloc_1"), foreign,
        event(8, "tenant.offboarded", "tenant_1"),
    )  # fmt: skip
    ran = cli("tenant", "offboard", "acme", "--reason", "left", "--watch")
    assert ran.code == 0
    told = [line.split("s  ", 1)[1] for line in ran.out.splitlines() if "s  " in line]
    assert told[:3] == ["tenant.offboarding: left", "allocation.releasing", "tenant.offboarded"]
    assert "tenant.created" not in ran.out
    assert "alloc_9" not in ran.out


BAD = {
    "not a mapping": ("- a\n", "must be a mapping"),
    "empty": ("", "must be a mapping"),
    "a key twice": ("tenant: a\ntenant: b\n", "'tenant' is there twice"),
    "a key twice inside": ("admin: {email: a, email: b}\n", "'email' is there twice"),
    "an alias": ("a: &x [1]\nb: *x\n", "aliases are not read"),
    "a tag": ("a: !!python/object/apply:os.system [id]\n", "could not determine a constructor"),
    "not YAML": ("a: [1\n", "not YAML"),
    "a date": ("a: 2026-01-01\n", "a value that the API does not take"),
    "no number": ("a: .nan\n", "a value that the API does not take"),
    "a control character": ("a: \x07\n", "not YAML"),
    "too long": ("a: " + "x" * 70_000, "too long"),
    "two documents": ("a: 1\n---\nb: 2\n", "not YAML"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_plainly_a_wish_is_a_usage_error(
    name: str, here: Api, cli: Cli, home: Path
) -> None:
    text, why = BAD[name]
    (home / "bad.yaml").write_text(text)
    ran = cli("tenant", "onboard", "--file", "bad.yaml")
    assert ran.code == 2
    assert why in ran.err
    assert here.calls == []


def test_a_file_that_is_not_there_or_not_text_is_a_usage_error(
    here: Api, cli: Cli, home: Path
) -> None:
    assert cli("tenant", "onboard", "--file", "nothing.yaml").code == 2
    (home / "binary").write_bytes(b"\xff\xfe\x00")
    assert cli("template", "set", "x", "--file", "binary").code == 2
    with pytest.raises(errors.Misused):
        files.read(str(home))


def test_a_template_is_sent_as_it_is_written(here: Api, cli: Cli, home: Path) -> None:
    (home / "small.yaml").write_text("skus: [h100.slice]\nquotas: [{gpus_max: 4}]\n")
    here.on("PUT", "/v1/templates/small", {"id": "template_1"})
    assert cli("template", "set", "small", "--file", "small.yaml").code == 0
    sent = here.asked("PUT", "/v1/templates/small")[0].body
    assert sent == {"skus": ["h100.slice"], "quotas": [{"gpus_max": 4}]}


def test_a_template_says_its_limits_for_people_and_as_they_are_for_programs(
    here: Api, cli: Cli
) -> None:
    none = {"family": None, "gpus_max": None, "clusters_max": None, "volumes_bytes_max": None,
            "spend_micros_max": None, "currency": None}  # fmt: skip
    limits: list[dict[str, object]] = [
        {**none, "gpus_max": 64}, {**none, "family": "h100", "gpus_max": 0},
        {**none, "clusters_max": 4}, {**none, "volumes_bytes_max": 2**41},
        {**none, "spend_micros_max": 5 * 10**9, "currency": "USD"},
    ]  # fmt: skip
    here.on("GET", "/v1/templates/small", {"id": "template_1", "quotas": limits})
    said = "gpus 64, h100 gpus 0, clusters 4, volumes 2 TiB, spend $5,000.00"
    assert said in " ".join(cli("template", "show", "small").out.split())
    assert json.loads(cli("template", "show", "small", "--json").out)["quotas"] == limits


def test_ranges_are_read_as_people_write_them(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/pools", Answer(201, {"id": "pool_1"}))
    for range, first, last in (("100-199", 100, 199), ("0x10-0x7ffe", 16, 0x7FFE), ("7", 7, 7)):
        assert cli("pool", "create", "p", "--kind", "pkey", f"--range={range}").code == 0
        assert (here.calls[-1].body["first"], here.calls[-1].body["last"]) == (first, last)
    for range in ("", "a-b", "-5", "1-2-3"):
        assert cli("pool", "create", "p", "--kind", "vlan", f"--range={range}").code == 2, range
