"""One page: what all calls share, every operation by its noun, and the shapes of what is sent."""

from collections.abc import Sequence
from typing import Any, Final

from penstock.central.documentation.words import Json, given, kind, limits, line, name_of, prose
from penstock.central.realms.pages.markup import Html, el, join
from penstock.kernel.http.description import ALWAYS

PROOFS: Final = {"http": "Authorization", "openIdConnect": "Sign-in"}  # of who one is


def render(described: Json) -> str:
    """The whole document, from an OpenAPI description."""
    tags = _by_tag(described)
    schemas: Json = described["components"]["schemas"]
    body = el(
        "body",
        _index(tags),
        el(
            "main",
            _head(described),
            *(_section(tag, operations, schemas) for tag, operations in tags.items()),
            el("h2", "Shapes", id="shapes"),
            *(_shape(name, schemas[name]) for name in sorted(schemas)),
        ),
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{described['info']['title']} API"),
        el("link", rel="stylesheet", href="/docs/style.css"),
    )
    return f"<!doctype html>{el('html', head, body, lang='en')}"


def _by_tag(described: Json) -> dict[str, list[tuple[str, str, Json]]]:
    """Method, path and operation, in the order in which they are described."""
    found: dict[str, list[tuple[str, str, Json]]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            tag = operation.get("tags", ["other"])[0]
            found.setdefault(tag, []).append((method.upper(), path, operation))
    return found


def _index(tags: dict[str, list[tuple[str, str, Json]]]) -> Html:
    links = [el("li", el("a", tag, href=f"#{tag}")) for tag in tags]
    return el(
        "nav",
        el("a", "Penstock API", href="#top", class_="name"),
        el("ul", *links, el("li", el("a", "Shapes", href="#shapes"))),
        aria_label="Contents",
    )


def _head(described: Json) -> Html:
    info, shared = described["info"], described["components"]
    terms = [
        (PROOFS[one["type"]], one["description"]) for one in shared["securitySchemes"].values()
    ]
    terms += [(one["name"], one["description"]) for one in shared["parameters"].values()]
    return join(
        el("h1", f"{info['title']} API ", el("small", info["version"]), id="top"),
        prose(info["description"]),
        el("p", "As data: ", el("a", "/v1/openapi.json", href="/v1/openapi.json"), "."),
        el("h2", "Every call"),
        el("dl", *(part for term in terms for part in _term(*term))),
        el(
            "p",
            "A refusal is a ",
            el("a", "Problem", href="#Problem"),
            ", and nothing happened unless it says otherwise. Any call may be refused with ",
            *_codes(sorted(ALWAYS)),
            ".",
        ),
    )


def _term(name: str, text: str) -> tuple[Html, Html]:
    return el("dt", el("code", name)), el("dd", prose(text))


def _codes(statuses: Sequence[str]) -> list[Html]:
    return [part for status in statuses for part in (Html(", "), el("code", status))][1:]


def _section(tag: str, operations: Sequence[tuple[str, str, Json]], schemas: Json) -> Html:
    return join(el("h2", tag, id=tag), *(_operation(*one, schemas) for one in operations))


def _operation(method: str, path: str, operation: Json, schemas: Json) -> Html:
    description: str = operation.get("description", operation.get("summary", ""))
    first, _, rest = description.partition("\n\n")
    return el(
        "details",
        el(
            "summary",
            el("span", method, class_=f"method {method.lower()}"),
            el("code", path, class_="path"),
            el("span", line(first), class_="what"),
        ),
        prose(rest),
        _parameters(operation),
        _body(operation, schemas),
        _answers(operation),
        id=f"{method}{path}",
    )


def _parameters(operation: Json) -> Html:
    """Its own; those that all share are told once."""
    own: list[Json] = [one for one in operation.get("parameters", ()) if "$ref" not in one]
    if not own:
        return Html("")
    rows = [
        _row(one["name"], given(one["schema"]), one.get("description", ""), needed=one["required"],
             where=one["in"])
        for one in own
    ]  # fmt: skip
    return join(el("h3", "Parameters"), el("table", *rows))


def _row(name: str, schema: Json, text: str, *, needed: bool, where: str = "") -> Html:
    note = " · ".join(word for word in (where, "" if needed else "optional") if word)
    described = text or _description(schema)
    return el(
        "tr",
        el("th", el("code", name), el("small", note) if note else "", scope="row"),
        el("td", kind(schema), el("small", limits(schema))),
        el("td", prose(described)),
    )


def _description(schema: Json) -> str:
    """Its own, or that of the one thing that it can be besides null."""
    told: list[str] = [one.get("description", "") for one in (schema, *schema.get("anyOf", ()))]
    return next(filter(None, told), "")


def _body(operation: Json, schemas: Json) -> Html:
    content = operation.get("requestBody", {}).get("content", {})
    shown: list[Html] = []
    for media in content.values():
        schema: Json = media["schema"]
        named: Json = schemas.get(name_of(schema.get("$ref", "")), {})
        shown += [el("p", kind(schema)), _fields(named)]
    return join(el("h3", "Body"), *shown) if shown else Html("")


def _fields(schema: Json) -> Html:
    required: Sequence[str] = schema.get("required", ())
    rows = [
        _row(name, inner, "", needed=name in required)
        for name, inner in schema.get("properties", {}).items()
    ]
    return el("table", *rows) if rows else Html("")


def _answers(operation: Json) -> Html:
    """What is answered, and the refusals that are not everybody's."""
    answers: Json = operation["responses"]
    rows = [
        el("tr", el("th", el("code", status), scope="row"), el("td", _answer(answer)))
        for status, answer in answers.items()
        if status not in ALWAYS
    ]
    return join(el("h3", "Answers"), el("table", *rows))


def _answer(answer: Json) -> Html:
    schemas: list[Any] = [media.get("schema", {}) for media in answer.get("content", {}).values()]
    if not schemas or "Problem" in {name_of(one.get("$ref", "")) for one in schemas}:
        return prose(answer["description"])
    return el("p", *(kind(one) for one in schemas))


def _shape(name: str, schema: Json) -> Html:
    fields = _fields(schema) or el("p", kind(schema))
    return el("section", el("h3", name, id=name), prose(schema.get("description", "")), fields)
