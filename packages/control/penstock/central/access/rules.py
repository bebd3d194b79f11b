"""Rules: the operator's own policies, from a file. They can only take away.

Each is a `forbid` with a name of its own, so whatever the file says, nobody may do more than the
roles let them.
"""

# cedarpy's own signatures have bare dicts:
# pyright: reportUnknownMemberType=false

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, cast

import cedarpy
from cedarpy.pst import Template

from penstock.kernel.settings import SettingsInvalid

SIZE_MAX: Final = 256 * 1024  # bytes
FAULTS_MAX: Final = 5  # told at once
TRIES_MAX: Final = 8  # at finding the end of one policy
# Cedar goes down one level for each of these, and ends the process at some 600 levels.
DEEPER: Final = re.compile(r"&&|\|\||[-+*.!<>=(\[{]|\bif\b")
DEEPER_MAX: Final = 200  # in one policy
ASIDE: Final = re.compile(r'//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PoliciesInvalid(SettingsInvalid):
    """The policies cannot be used; nothing is decided by them."""


def read(path: Path) -> str:
    """The text of the file, which need not be good policies. Raises PoliciesInvalid."""
    try:
        if not path.is_file():  # a pipe would let us wait for ever
            raise _unusable(path, "it is not a file" if path.exists() else "there is no such file")
        with path.open("rb") as file:
            content = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from None
    if len(content) > SIZE_MAX:
        raise _unusable(path, f"it is larger than {SIZE_MAX // 1024} kB")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _unusable(path, "it is not text in UTF-8") from None
    if not text.strip():
        raise _unusable(path, "it is empty; if there should be no rule, say so in a // comment")
    return text


def check(path: Path, text: str, schema: str, taken: Collection[str]) -> int:
    """How many rules the text has, all of them good. Raises PoliciesInvalid."""
    if any(len(DEEPER.findall(one)) > DEEPER_MAX for one in ASIDE.sub("", text).split(";")):
        raise _unusable(path, f"a policy has more than {DEEPER_MAX} operators; make two of it")
    try:
        parsed = cedarpy.policies_to_pst(text)
    except ValueError as error:
        line = _line_of_trouble(text)
        raise _unusable(path, f"{error}, in the policy that begins at line {line}") from None
    policies = {**parsed.static_policies, **parsed.templates}
    faults = [*_misplaced(policies, parsed.templates, taken)] or [*invalid(text, schema)]
    if faults:
        more = f"; and {len(faults) - FAULTS_MAX} more" if len(faults) > FAULTS_MAX else ""
        raise _unusable(path, "; ".join(faults[:FAULTS_MAX]) + more)
    return len(policies)


def invalid(text: str, schema: str) -> Iterator[str]:
    """What the schema has against these policies."""
    checked = cedarpy.validate_policies(text, schema, release_gil=True)
    named = cast("dict[str, str]", checked.id_annotations_by_policy_id)
    for fault in checked.errors:
        name = named.get(fault.policy_id, fault.policy_id)
        said = fault.error.removeprefix(f"for policy `{fault.policy_id}`, ")
        yield f"policy {name!r}: {said}" if name else said


def _misplaced(
    policies: dict[str, Template], templates: Collection[str], taken: Collection[str]
) -> Iterator[str]:
    """What may not be in a file of rules, good Cedar or not."""
    seen = set(taken)
    for number, (id, policy) in enumerate(policies.items(), 1):
        name = policy.annotations.get("id", "")
        called = f"policy {name!r}" if name else f"its policy {number}"
        if not name:
            yield f'{called} has no name; put @id("…") before it'
        elif not NAME.fullmatch(name):
            yield f"{called} may have letters, digits, '.', '_' and '-' in its @id, at most 64"
        elif name in seen:
            yield f"{called} has a name that another policy has"
        if policy.effect != "forbid":
            yield f"{called} is a {policy.effect}, and a rule can only forbid; bind a role instead"
        if id in templates:
            yield f"{called} is a template, which nothing fills in"
        seen.add(name)


def _line_of_trouble(text: str) -> int:
    """Where the first policy begins that cannot be parsed; cedarpy does not say."""
    begin, tries = 0, 0
    for end in (match.end() for match in re.finditer(";", text)):
        try:
            cedarpy.PolicySet.from_str(text[begin:end])
        except ValueError:
            tries += 1  # it was in a string or a comment, or here is the trouble
            if tries == TRIES_MAX:
                break
        else:
            begin, tries = end, 0
    ahead = re.match(r"(\s|//[^\n]*\n)*", text[begin:])
    return 1 + text.count("\n", 0, begin + (ahead.end() if ahead else 0))


def _unusable(path: Path, what: str) -> PoliciesInvalid:
    return PoliciesInvalid(
        f"the policies in {path} cannot be used: {what}. Correct the file until "
        f"`penstock central --check-policies {path}` is content"
    )
