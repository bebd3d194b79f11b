"""Types of an OpenAPI description, in words."""

from collections.abc import Mapping
from typing import Any, Final

from penstock.central.realms.pages.markup import Html, el, join

Json = Mapping[str, Any]
KINDS: Final = {"string": "text", "integer": "whole number", "boolean": "true or false"}
FORMATS: Final = {"date-time": "time (RFC 3339)", "date": "day"}
# A bound, and how it is said of what it bounds.
BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} long",
    "maxLength": "at most {} long",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


def prose(text: str) -> Html:
    """Paragraphs, with code where there are backticks."""
    return join(*(el("p", line(part)) for part in text.strip().split("\n\n") if part))


def line(text: str) -> Html:
    parts = text.split("`")
    return join(*(el("code", part) if nth % 2 else part for nth, part in enumerate(parts)))


def name_of(reference: str) -> str:
    return reference.rpartition("/")[2]


def given(schema: Json) -> Json:
    """What a value is if there is one: a query has no null."""
    kinds: list[Json] = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return {**schema, **kinds[0]} if len(kinds) == 1 else schema


def kind(schema: Json) -> Html:
    """What a value is: `list of SlotView`, with a link to what has a name."""
    if "$ref" in schema:
        name = name_of(schema["$ref"])
        return el("a", name, href=f"#{name}")
    if "type" not in schema and "anyOf" in schema:
        return _either([kind(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return _either([el("code", str(value)) for value in schema["enum"]])
    if schema.get("type") == "array":
        return join("list of ", kind(schema.get("items", {})))
    if schema.get("type") == "object":
        more: Json | bool = schema.get("additionalProperties", False)
        return Html("object") if isinstance(more, bool) else join("names, each with ", kind(more))
    plain = str(schema.get("type", "anything"))
    return Html(FORMATS.get(str(schema.get("format")), KINDS.get(plain, plain)))


def _either(kinds: list[Html]) -> Html:
    between = [part for one in kinds for part in (Html(" or "), one)]
    return join(*between[1:])


def limits(schema: Json) -> Html:
    """What else must be so, and what it is if it is not said."""
    said: list[str] = [
        words.format(f"{schema[bound]:,.0f}") for bound, words in BOUNDS.items() if bound in schema
    ]
    parts = [Html(", ".join(said))] if said else []
    if "pattern" in schema:
        parts.append(join("like ", el("code", schema["pattern"])))
    if schema.get("default") not in (None, [], ""):
        parts.append(join("else ", el("code", str(schema["default"]).lower())))
    own = join(*[part for one in parts for part in (Html("; "), one)][1:])
    return own or join(*(limits(one) for one in schema.get("anyOf", ())))
