"""Files that people write by hand, in YAML: read strictly, so that no typo passes for a wish."""

# The stubs of yaml leave the parser's events untyped:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import json
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final, cast

import yaml

from penstock_client import errors

SIZE_MAX: Final = 60_000  # the API takes no more


class Strict(yaml.SafeLoader):
    """No key twice, and no aliases: what stands there is what is meant, once."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = cast("yaml.AliasEvent", self.peek_event())
            raise yaml.MarkedYAMLError(problem="aliases are not read here",
                                       problem_mark=event.start_mark)  # fmt: skip
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [str(key.value) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.MarkedYAMLError(problem=f"{twice!r} is there twice",
                                       problem_mark=node.start_mark)  # fmt: skip
        return super().construct_mapping(node, deep=deep)


def read(path: str) -> dict[str, object]:
    """The mapping in a file; `-` is standard input."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.Misused(f"{path} cannot be read: {error}") from None
    if len(text) > SIZE_MAX:
        raise errors.Misused(f"{path} is too long: at most {SIZE_MAX} characters are read")
    try:
        # `Strict` is a safe loader: it makes plain values and nothing else.
        document: object = yaml.load(text, Loader=Strict)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise errors.Misused(f"{path} is not YAML that can be read: {_where(error)}") from None
    if not isinstance(document, dict):
        raise errors.Misused(f"{path} must be a mapping: `key: value` on each line")
    try:
        return cast("dict[str, object]", json.loads(json.dumps(document, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise errors.Misused(f"{path} has a value that the API does not take: {error}") from None


def _where(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error) or type(error).__name__
