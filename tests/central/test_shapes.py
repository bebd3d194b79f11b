"""What text must look like is said in words: no regular expression is in any answer."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from penstock.central import app
from penstock.kernel import shapes

from .plane import Central, Json

pytestmark = pytest.mark.anyio

BAD = "\x01"  # what no shape allows
Leaf = tuple[object, str]  # a body that has one bad text in it, and the shape of that text
NOT_DECIDED = shapes.in_words("no shape that we know")


def leaves(described: Json, schema: Json, seen: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """All that can be wrong in one place, wherever in the body that is."""
    if reference := schema.get("$ref"):
        if reference not in seen:
            named = described["components"]["schemas"][reference.rpartition("/")[2]]
            yield from leaves(described, named, (*seen, reference))
        return
    if "pattern" in schema:
        yield BAD, schema["pattern"]
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from leaves(described, choice, seen)
    for name, inner in schema.get("properties", {}).items():
        yield from (({name: bad}, shape) for bad, shape in leaves(described, inner, seen))
    if items := schema.get("items"):
        yield from (([bad], shape) for bad, shape in leaves(described, items, seen))
    more: Json | bool = schema.get("additionalProperties", False)
    if not isinstance(more, bool):
        yield from (({"key": bad}, shape) for bad, shape in leaves(described, more, seen))


def calls() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Every place of every operation where a shape is asked for, with something else in it."""
    described = app.create().openapi()
    for template, verbs in described["paths"].items():
        path = template.translate({ord("{"): "", ord("}"): ""})
        for verb, operation in verbs.items():
            for parameter in operation.get("parameters", ()):
                name = parameter.get("name", "")
                for _, shape in leaves(described, parameter.get("schema", {})):
                    if parameter["in"] == "path":
                        yield verb, template.replace(f"{{{name}}}", quote(BAD)), {}, shape
                    else:
                        yield verb, path, {"params": {name: BAD}}, shape
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for body, shape in leaves(described, content["schema"]):
                    yield verb, path, {"json": body}, shape


async def test_whatever_is_not_shaped_as_it_must_be_is_told_in_words(central: Central) -> None:
    asked = list(calls())
    for verb, path, arguments, shape in asked:
        answer = await central.platform.send(verb.upper(), path, **arguments)
        where = f"{verb} {path} {arguments}"
        assert answer.status == 422, f"{where}: {answer.json}"
        messages = [each["message"] for each in answer.json["errors"]]
        assert shapes.in_words(shape) != NOT_DECIDED, f"{shape} has no words ({where})"
        assert shapes.in_words(shape) in messages, f"{where}: {messages}"
        told = [answer.json["detail"], *messages]
        assert not any(shape in each or "pattern" in each for each in told), where
    assert len(asked) > 50, "the description has hardly any shapes"


async def test_a_bad_email_says_what_is_wanted(central: Central) -> None:
    tenant = await central.tenant("acme")
    answer = await central.platform.post("/v1/users/invite", email="nonsense", tenant=tenant.id)
    assert answer.status == 422
    assert answer.json["detail"] == (
        "email: an email address is wanted, as in ann@example.com, in plain ASCII"
    )
