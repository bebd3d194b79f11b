"""The API's description is checked in, so that every change to it is seen."""

import json
from pathlib import Path

from penstock.central import app

from .plane import Json

CHECKED_IN = Path(__file__).parents[2] / "openapi" / "central.json"


def test_the_checked_in_description_is_what_the_api_is() -> None:
    written = json.loads(CHECKED_IN.read_text())
    assert written == app.create().openapi(), "run tools/openapi.py"


def test_every_operation_says_what_it_is_for_and_has_its_own_id() -> None:
    ids: list[str] = []
    for path, verbs in app.create().openapi()["paths"].items():
        for verb, operation in verbs.items():
            assert operation.get("description"), f"{verb} {path}"
            ids.append(operation["operationId"])
    assert len(ids) == len(set(ids))


def operations() -> list[tuple[str, str, Json]]:
    paths: dict[str, Json] = app.create().openapi()["paths"]
    return [(verb, path, op) for path, verbs in paths.items() for verb, op in verbs.items()]


def test_every_change_may_say_why_and_every_post_may_have_a_key() -> None:
    for verb, path, operation in operations():
        shared = [
            p["$ref"].rpartition("/")[2] for p in operation.get("parameters", []) if "$ref" in p
        ]
        expected = {"get": [], "post": ["IdempotencyKey", "Reason"]}.get(verb, ["Reason"])
        assert shared == expected, f"{verb} {path}"


def test_every_operation_says_how_it_refuses() -> None:
    problem = {"$ref": "#/components/schemas/Problem"}
    for verb, path, operation in operations():
        refusals = {s: a for s, a in operation["responses"].items() if s >= "400"}
        assert refusals.keys() >= {"401", "403", "422", "429", "503"}, f"{verb} {path}"
        assert ("404" in refusals) >= ("{" in path), f"{verb} {path}"
        assert ("409" in refusals) == (verb != "get"), f"{verb} {path}"
        for answer in refusals.values():
            assert answer["content"] == {"application/problem+json": {"schema": problem}}
    assert "402" in app.create().openapi()["paths"]["/v1/allocations"]["post"]["responses"]


def test_it_says_how_one_proves_who_one_is_and_how_a_refusal_looks() -> None:
    described = app.create().openapi()
    assert described["security"] == [{"bearer": []}, {"realm": []}]
    schemes = described["components"]["securitySchemes"]
    assert {name: scheme["type"] for name, scheme in schemes.items()} == {
        "bearer": "http", "realm": "openIdConnect",
    }  # fmt: skip
    properties = described["components"]["schemas"]["Problem"]["properties"]
    assert {"code", "detail", "suggestion", "correlation_id"} <= properties.keys()
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_the_description_asked_for_twice_is_the_same() -> None:
    made = app.create()
    assert json.dumps(made.openapi()) == json.dumps(made.openapi())
