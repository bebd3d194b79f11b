"""The API's description (OpenAPI), with what all operations have in common.

Routes describe what is their own. What the edge does for every one of them is added here: who
may call, the headers that are read everywhere, and how a refusal looks.
"""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI

from penstock.kernel.catalogue import Catalogue
from penstock.kernel.names import TEXT_LENGTH_MAX

Json = dict[str, Any]

READS: Final = frozenset({"get", "head"})
REFUSALS: Final = {
    "400": "The body cannot be read, or a header that decides something is there twice",
    "401": "No key or token, or one that is not good here",
    "402": "What is left of prepaid money does not cover it",
    "403": "You may not do this, or it cannot be done now",
    "404": "There is no such thing, or none that you may see",
    "409": "It does not fit with how things are; nothing happened",
    "410": "It was there, and is not kept any more",
    "422": "The request is not in order; nothing happened",
    "429": "More than was agreed; `Retry-After` says when to ask again",
    "503": "Not now; `Retry-After` says when to ask again",
}
ALWAYS: Final = frozenset({"400", "401", "403", "422", "429", "503"})
PROBLEM: Final[Json] = {
    "title": "Problem",
    "description": "A refusal (RFC 9457): what is true, what cannot happen, what to do next.",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail", "correlation_id"],
    "properties": {
        "type": {"type": "string", "description": "`urn:penstock:problem:` and the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable: what a program decides on"},
        "detail": {"type": "string", "description": "For people"},
        "suggestion": {"type": "string", "description": "What to do next, where that is known"},
        "correlation_id": {"type": "string", "description": "By which the logs name the request"},
        "errors": {
            "description": "Of an invalid request: each field, and what is wrong with it",
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
EVENT: Final[Json] = {
    "title": "Event",
    "description": "Something that happened (CloudEvents 1.0), the same through every door. "
    "`x-events` has every type, with the schema of its `data`.",
    "type": "object",
    "required": [
        "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "sequence",
        "tenantid", "correlationid", "data",
    ],
    "properties": {
        "specversion": {"const": "1.0"},
        "id": {"type": "string"},
        "source": {"type": "string", "description": "The plane that it happened at"},
        "type": {"type": "string", "description": "A key of `x-events`"},
        "subject": {"type": "string", "description": "The id of what it happened to"},
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "sequence": {"type": "integer", "description": "Its place in the plane's log"},
        "tenantid": {"type": ["string", "null"], "description": "The tenant that it concerns"},
        "correlationid": {"type": "string", "description": "Of the request that made it happen"},
        "data": {"type": "object", "description": "As `x-events` says for the type"},
    },
}  # fmt: skip
IDEMPOTENCY_KEY: Final[Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Of your choice. A second request with the same key has no second effect: it "
    "gets the first one's answer, a refusal too. Failures (5xx) are no answers: ask again with "
    "the same key. After a refusal, use a new one.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
REASON: Final[Json] = {
    "name": "X-Reason",
    "in": "header",
    "description": f"Why; kept in the audit log. 1 to {TEXT_LENGTH_MAX} characters as UTF-8, "
    "percent-encoded; ASCII other than `%` may stay as it is.",
    "schema": {
        "type": "string",
        "pattern": "^([!-$&-~]|%[2-6][0-9A-F])([ -$&-~]|%[2-6][0-9A-F])*$",
    },
}
SECURITY: Final[Json] = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (`pk_…`), or an access token of your tenant's realm.",
    },
    "realm": {
        "type": "openIdConnect",
        "openIdConnectUrl": "/realms/TENANT/.well-known/openid-configuration",
        "description": "Every tenant has an issuer of its own: `/realms/` and the tenant's name.",
    },
}


def complete(app: FastAPI, catalogue: Catalogue) -> None:
    """Have the app describe itself with all of this."""
    own = app.openapi

    def openapi() -> Json:
        if app.openapi_schema is None or "securitySchemes" not in app.openapi_schema["components"]:
            app.openapi_schema = completed(own(), catalogue)
        return app.openapi_schema

    app.openapi = openapi  # as FastAPI documents it


def completed(described: Json, catalogue: Catalogue) -> Json:
    components: Json = described["components"]
    described["x-events"] = events(catalogue)
    for replaced in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(replaced, None)
    components["schemas"]["Event"] = EVENT
    components["schemas"]["Problem"] = PROBLEM
    components["parameters"] = {"IdempotencyKey": IDEMPOTENCY_KEY, "Reason": REASON}
    components["securitySchemes"] = SECURITY
    described["security"] = [{name: []} for name in SECURITY]
    for path, operations in described["paths"].items():
        for verb, operation in operations.items():
            _complete(path, verb, operation)
    return described


def events(catalogue: Catalogue) -> Json:
    """The catalogue: by type, what it means, who sees it, and the schema of its payload."""
    return {
        each.name: {
            "description": each.sentence,
            "audience": each.audience,
            "subject": [kind.prefix for kind in each.subjects],
            "data": each.schema(),
        }
        for each in catalogue.types.values()
    }


def _complete(path: str, verb: str, operation: Json) -> None:
    headers = [] if verb in READS else ["Reason"]
    if verb == "post":
        headers.insert(0, "IdempotencyKey")
    if headers:
        shared = [{"$ref": f"#/components/parameters/{name}"} for name in headers]
        operation["parameters"] = [*operation.get("parameters", []), *shared]
    kept = {
        status: answer
        for status, answer in operation["responses"].items()
        if not _is_default_refusal(answer)
    }
    refusals = {status: _refusal(status) for status in _possible(path, verb, operation)}
    operation["responses"] = dict(sorted({**refusals, **kept}.items()))


def _is_default_refusal(answer: Mapping[str, Any]) -> bool:
    """FastAPI's own 422, which no answer here looks like."""
    return "HTTPValidationError" in str(answer)


def _possible(path: str, verb: str, operation: Json) -> set[str]:
    possible = set(ALWAYS)
    if "{" in path or "requestBody" in operation or operation.get("parameters"):
        possible.add("404")  # something is named
    if verb not in READS:
        possible.add("409")
    return possible | set(operation.pop("x-refusals", ()))


def _refusal(status: str) -> Json:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": REFUSALS[status], "content": content}
