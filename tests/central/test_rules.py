"""Files of rules: what is refused of them and how, and that they can only take away. Pure."""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import cedarpy
import pytest

from penstock.central.access import in_force, questions
from penstock.central.access.authorization import Resource, authorize
from penstock.central.access.engine import Policies, groups
from penstock.central.access.in_force import ACTIONS, IN_FORCE, SCHEMA, TREE
from penstock.central.access.roles import LEVELS, PLATFORM, Level, Role
from penstock.central.access.rules import SIZE_MAX, PoliciesInvalid
from penstock.kernel.actor import NO_ROLE, SYSTEM, Actor, Grant
from penstock.kernel.errors import Forbidden, NotFound
from penstock_contracts.ids import TenantId

ACCESS_PAGE: Final = Path(__file__).parents[2] / "docs" / "access.md"
TENANT: Final = TenantId("tenant_a")
PROJECT: Final = Resource("project", "project_a", TENANT, "org_a", "project_a", family="h100")
ADMIN: Final = Actor("key", "key_a", "admin", TENANT)
NO_LEASES: Final = '@id("no-leases")\nforbid (principal, action == {}, resource);\n'.format(
    'Penstock::Action::"allocation.create"'
)
BROKEN: Final[dict[str, tuple[bytes, str]]] = {
    "cut off": (b"// one\n" + NO_LEASES.encode() + b'\n@id("y")\nforbid (principal', "line 5"),
    "not Cedar": (b"all: forbidden\n", "line 1"),
    "an action that there is not": (NO_LEASES.replace("create", "eat").encode(), "allocation.eat"),
    "an attribute that there is not": (
        NO_LEASES.replace(");", ") when { principal.king };").encode(),
        "policy 'no-leases': attribute `king`",
    ),
    "a permit": (
        b'@id("open")\npermit (principal, action, resource);',
        "policy 'open' is a permit, and a rule can only forbid",
    ),
    "a permit behind a forbid": (
        NO_LEASES.encode() + b"permit (principal, action, resource);",
        "its policy 2 is a permit",
    ),
    "no name": (b"forbid (principal, action, resource);", "its policy 1 has no name"),
    "an empty name": (b"@id forbid (principal, action, resource);", "its policy 1 has no name"),
    "a name of the tree's": (
        b'@id("viewers-see") forbid (principal, action, resource);',
        "policy 'viewers-see' has a name that another policy has",
    ),
    "a name twice": (2 * NO_LEASES.encode(), "has a name that another policy has"),
    "a name of several lines": (
        b'@id("a\\nb") forbid (principal, action, resource);',
        "at most 64",
    ),
    "a template": (
        b'@id("x") forbid (principal == ?principal, action, resource);',
        "is a template",
    ),
    "binary": (b"\x7fELF\xff\xfe", "not text"),
    "with a NUL": (b"// x\0\n\0", "line"),
    "too large": (b"/" * (SIZE_MAX + 1), "larger than 256 kB"),
    "empty": (b" \n", "it is empty"),
}


def written(folder: Path, content: bytes | str) -> Path:
    file = folder / "rules.cedar"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def ruled(rules: str) -> Policies:
    return Policies(TREE, SCHEMA, rules)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_refused_in_words_that_help(tmp_path: Path, kind: str) -> None:
    content, words = BROKEN[kind]
    file = written(tmp_path, content)
    with pytest.raises(PoliciesInvalid) as refused:
        in_force.load(file)
    said = str(refused.value)
    assert words in said
    assert f"penstock central --check-policies {file}" in said
    assert "\n" not in said


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, words in {
        tmp_path: "it is not a file",
        tmp_path / "none": "there is no such file",
        pipe: "it is not a file",
    }.items():
        with pytest.raises(PoliciesInvalid, match=words):
            in_force.load(path)


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 20_000 + "true" + ")" * 20_000,
        "&&".join(["true"] * 20_000),
        "if true then " * 5_000 + "true" + " else true" * 5_000,
        "principal" + '["a;"]' * 20_000,
    ],
)
def test_what_would_end_cedar_ends_no_process(tmp_path: Path, deep: str) -> None:
    rule = f'@id("deep") forbid (principal, action, resource) when {{ {deep} }};'
    ran = check(written(tmp_path, rule))
    assert ran.returncode == 1, ran.stderr
    assert "more than 200 operators" in ran.stderr


def check(file: Path) -> "subprocess.CompletedProcess[str]":
    program = [sys.executable, "-m", "penstock_client.main", "central", "--check-policies"]
    return subprocess.run(
        [*program, file], capture_output=True, text=True, timeout=300, check=False
    )


def test_a_file_can_be_checked_before_it_is_used(tmp_path: Path) -> None:
    good = check(written(tmp_path, NO_LEASES))
    assert good.returncode == 0, good.stderr
    assert ruled(NO_LEASES).revision in good.stdout
    bad = check(written(tmp_path, NO_LEASES + "permit (principal, action, resource);"))
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("penstock: the policies in ")


def test_a_file_may_say_that_there_is_no_rule(tmp_path: Path) -> None:
    text, policies = in_force.load(written(tmp_path, "// none at the moment\n"))
    assert text
    assert policies.permit(ADMIN, "allocation.create", PROJECT)


def test_the_rules_of_the_documentation_are_good(tmp_path: Path) -> None:
    examples = re.findall(r"```cedar\n(.*?)```", ACCESS_PAGE.read_text(), re.DOTALL)
    assert len(examples) >= 2
    in_force.load(written(tmp_path, "".join(examples)))


def actors() -> list[Actor]:
    """Every role at every level."""
    places = {
        Level.PLATFORM: PLATFORM, Level.SITE: "site_a", Level.TENANT: TENANT,
        Level.ORGANIZATION: "org_a", Level.PROJECT: "project_a",
    }  # fmt: skip
    return [
        Actor("user", "user_a", NO_ROLE, TENANT, grants=frozenset({Grant(role, at, places[at])}))
        for role in Role
        for at in LEVELS[role]
    ]


def test_rules_only_take_away() -> None:
    rules = (
        NO_LEASES + '@id("by-day") forbid (principal, action, resource) when { context.hour > 8 };'
    )
    policies = ruled(rules)
    taken = 0
    for actor, action, hour in itertools.product(actors(), sorted(ACTIONS), (3, 9)):
        asker = replace(actor, hour=hour)
        before = IN_FORCE.policies.permit(asker, action, PROJECT)
        after = policies.permit(asker, action, PROJECT)
        assert after == (before and hour <= 8 and action != "allocation.create")
        taken += before and not after
    assert taken


def test_leaving_out_what_is_about_other_actions_changes_no_decision() -> None:
    everything = cedarpy.PolicySet.from_str(TREE)
    within = groups(SCHEMA)
    for actor, action in itertools.product(actors(), sorted(ACTIONS)):
        (grants, *_) = questions.principals(actor)
        parts = (questions.asker(actor, grants), questions.deed(action, within[action]))
        known = f"[{', '.join(parts)}, {questions.thing(PROJECT)}]"
        request = questions.request(actor, action, PROJECT)
        answer = cedarpy.is_authorized(request, everything, known, SCHEMA)
        assert not answer.diagnostics.errors
        named = cast("dict[str, str]", answer.diagnostics.id_annotations_by_reason).values()
        decided = IN_FORCE.policies.evaluate(actor, action, PROJECT)
        assert (decided.allowed, decided.policies) == (answer.allowed, tuple(sorted(named)))


def test_the_system_is_not_bound_by_rules() -> None:
    policies = ruled('@id("nothing") forbid (principal, action, resource);')
    assert not policies.permit(ADMIN, "project.view", PROJECT)
    assert policies.permit(SYSTEM, "project.view", PROJECT)
    working = Actor("user", "user_a", "system")  # at what a user asked for
    assert policies.permit(working, "project.view", PROJECT)


def test_a_rule_that_cannot_be_evaluated_denies() -> None:
    policies = ruled(
        '@id("too-much") forbid (principal, action, resource) '
        "when { context.hour * 9223372036854775807 > 3 };"
    )
    assert policies.permit(replace(ADMIN, hour=0), "project.view", PROJECT)
    overflown = policies.decide(replace(ADMIN, hour=3), "project.view", PROJECT)
    assert (overflown.allowed, overflown.policies) == (False, ("too-much",))


def test_rules_tell_people_from_keys() -> None:
    policies = ruled(
        '@id("second") forbid (principal, action, resource) '
        'when { principal.kind == "user" && !principal.second_factor };'
    )
    user = Actor("user", "user_a", "admin", TENANT)
    assert not policies.permit(user, "project.create", PROJECT)
    assert policies.permit(replace(user, second_factor=True), "project.create", PROJECT)
    for kind in ("key", "client", "service_account"):
        assert policies.permit(replace(user, kind=kind), "project.create", PROJECT)
    keys = ruled('@id("k") forbid (principal, action, resource) when { principal.kind == "key" };')
    assert not keys.permit(replace(user, kind="service_account"), "project.create", PROJECT)


def test_a_refusal_names_the_rule_and_what_is_unseen_stays_so() -> None:
    hidden = '@id("hidden") forbid (principal, action, resource in Penstock::Place::"project_a");'
    before = IN_FORCE.policies
    try:
        IN_FORCE.exchange(ruled(NO_LEASES))
        with pytest.raises(Forbidden) as refused:
            authorize(ADMIN, "allocation.create", PROJECT)
        assert refused.value.detail == "policy 'no-leases' forbids allocation.create"
        explain = "`penstock access explain allocation.create project_a`"
        assert refused.value.suggestion == explain
        IN_FORCE.exchange(ruled(hidden))
        with pytest.raises(NotFound, match="there is no project 'project_a'"):
            authorize(ADMIN, "allocation.create", PROJECT)
        with pytest.raises(NotFound, match="there is no project 'project_a'"):
            authorize(ADMIN, "project.view", PROJECT)
    finally:
        IN_FORCE.exchange(before)
