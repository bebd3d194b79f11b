"""How a refusal is told: what is true, why, and what to do next."""

import json
import sys
from collections.abc import Mapping
from typing import Final, cast

from penstock_client import errors, screen, streams, words
from penstock_client.errors import ClientError, Problem

SHOWN_TWICE: Final = frozenset({"suggestion", "detail"})


def tell(error: ClientError, *, as_json: bool) -> None:
    if as_json:
        streams.tell(json.dumps(document(error)))
        return
    screen.note(f"penstock: {error}")
    if isinstance(error, errors.Refused):
        _tell_problem(error.problem)


def document(error: ClientError) -> Mapping[str, object]:
    """The problem as the API gave it, or as it would have."""
    if isinstance(error, errors.Refused):
        return error.problem
    code = {errors.USAGE: "usage", errors.UNREACHABLE: "unreachable"}.get(error.exit_code, "failed")
    return {"title": type(error).__name__, "status": 0, "code": code, "detail": str(error)}


def _tell_problem(problem: Problem) -> None:
    said = problem.get("detail", "")
    for wrong in problem.get("errors", []):
        told = f"{words.plain(wrong.get('field'))}: {words.plain(wrong.get('message'))}"
        if told not in said:
            screen.note(f"  {told}")
    if explanation := problem.get("explanation"):
        _tell_explanation(explanation)
    if suggestion := problem.get("suggestion"):
        screen.note(f"try: {suggestion}")
    if problem["status"] == 401:
        screen.note("try: check the token: `penstock context ls` says which API is used")
    trace = problem.get("correlation_id")
    screen.note(f"code: {problem['code']}" + (f", correlation id: {trace}" if trace else ""))


def _tell_explanation(explanation: object) -> None:
    """Every filter with the count of nodes it removed, in whichever form it is given."""
    if isinstance(explanation, Mapping):
        given = cast("Mapping[str, object]", explanation)
        explanation = {key: given[key] for key in given if key not in SHOWN_TWICE}
    screen.outline(explanation, sys.stderr)
