"""Roles, groups, service accounts and explanations, as commands."""

from .stand_in import Api, Cli

DENIED = {
    "actor": "user_1",
    "action": "allocation.create",
    "resource": "project_1",
    "allowed": False,
    "policies": [],
    "needed": [{"role": "member", "scope": "project", "scope_id": "project_1"}],
    "revision": "0123456789ab",
}
BINDING: dict[str, object] = {
    "id": "binding_1", "tenant": "tenant_1", "subject": "user_1", "subject_kind": "user",
    "role": "member", "scope": "project", "scope_id": "project_1", "conditions": {},
    "created_by": "key:key_1", "created_at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def test_a_denial_is_told_with_the_role_that_is_needed_and_exits_with_1(
    here: Api, cli: Cli
) -> None:
    here.on("GET", "/v1/access/explain", DENIED)
    ran = cli("access", "explain", "allocation.create", "project_1", "--as", "user_1")
    assert ran.code == 1
    assert "denied: allocation.create on project_1 by user_1" in ran.out
    assert "member at project project_1" in ran.out
    assert "revision 0123456789ab" in ran.out
    asked = {"action": "allocation.create", "resource": "project_1", "actor": "user_1"}
    assert here.calls[0].query == asked


def test_what_is_allowed_names_its_policy(here: Api, cli: Cli) -> None:
    allowed = {**DENIED, "allowed": True, "policies": ["viewers-see"], "needed": []}
    here.on("GET", "/v1/access/explain", allowed)
    ran = cli("access", "explain", "project.view")
    assert ran.code == 0
    assert "by viewers-see" in ran.out


def test_a_binding_carries_its_conditions(here: Api, cli: Cli) -> None:
    here.on("POST", "/v1/role-bindings", BINDING)
    ran = cli(
        "role", "bind", "user_1", "member", "--project", "main", "--family", "h100",
        "--hours", "8-18", "--second-factor",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert here.calls[0].body == {
        "subject": "user_1", "role": "member", "project": "main",
        "conditions": {
            "families": ["h100"], "hours": {"begin": 8, "end": 18}, "second_factor": True,
        },
    }  # fmt: skip
    assert cli("role", "bind", "user_1", "member", "--hours", "noon").code == 2


def test_a_key_of_a_service_account_is_shown_once(here: Api, cli: Cli) -> None:
    made = {"id": "key_1", "name": "k", "service_account": "sa_1", "token": "pk_secret"}
    here.on("POST", "/v1/service-accounts/sa_1/keys", made)
    ran = cli("service-account", "create-key", "sa_1", "k")
    assert (ran.code, ran.out.strip()) == (0, "pk_secret")


def test_a_group_is_deleted_and_shown_as_it_was(here: Api, cli: Cli) -> None:
    was: dict[str, object] = {
        "id": "group_1", "tenant": "tenant_1", "name": "team",
        "created_at": "2026-01-01T00:00:00Z", "members": [],
    }  # fmt: skip
    here.on("DELETE", "/v1/groups/group_1", was)
    ran = cli("group", "rm", "group_1")
    assert (ran.code, here.calls[0].method) == (0, "DELETE"), ran.err
    assert "team" in ran.out
