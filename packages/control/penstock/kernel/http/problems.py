"""Problem+json (RFC 9457): how a refusal looks on the wire."""

from collections.abc import Callable

import orjson
from fastapi import Request, Response
from starlette.types import Scope

from penstock.kernel.errors import Problem

Refused = Callable[[Scope, Problem, str], Response]  # with its correlation id


def as_problem(_scope: Scope, problem: Problem, correlation_id: str) -> Response:
    """How a refusal looks, unless someone else says so."""
    return render(problem, correlation_id)


def problem_response(problem: Problem, request: Request, *, status: int | None = None) -> Response:
    return render(problem, getattr(request.state, "correlation_id", ""), status=status)


def render(problem: Problem, correlation_id: str, *, status: int | None = None) -> Response:
    code = status or problem.status
    body: dict[str, object] = {
        "type": f"urn:penstock:problem:{problem.code}",
        "title": problem.title if status is None else problem.code.replace("_", " ").capitalize(),
        "status": code,
        "code": problem.code,
        "detail": problem.detail,
        "correlation_id": correlation_id,
        **problem.extras,
    }
    if problem.suggestion:
        body["suggestion"] = problem.suggestion
    headers: dict[str, str] = {}
    if problem.retry_after_s is not None:
        headers["Retry-After"] = str(problem.retry_after_s)
    if problem.replayed:
        headers["Idempotency-Replayed"] = "true"
    if code == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="penstock"'
    return Response(
        orjson.dumps(body, default=str),
        status_code=code,
        headers=headers,
        media_type="application/problem+json",
    )
