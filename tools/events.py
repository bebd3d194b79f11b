"""Write the catalogue of events to docs/events.md, or (--check) say whether it is up to date."""

import sys
from pathlib import Path
from typing import Any

from penstock.central.events import CATALOGUE
from penstock.kernel.catalogue import EventType

TARGET = Path(__file__).parent.parent / "docs" / "events.md"
HEAD = f"""# Events

Written by `make events` from what each noun declares; do not edit it here. `GET /v1/openapi.json`
has the same as `x-events`, with a JSON Schema of each payload.

Everything that happens is in one ordered log. `GET /v1/events` (server-sent events) and `/v1/ws`
(WebSocket) give the same CloudEvents envelopes: `type` and `subject` are those below, `data` has
the fields, `source` is the plane (`{CATALOGUE.source}`; a site is `/penstock/sites/` and its id),
`sequence` the place in that plane's log. Nothing that is not listed here can be emitted. Types and
fields may be added: pass over those that you do not know.

Who may see an event:

- `tenant`: the tenant that it concerns (`tenantid`), and the platform.
- `platform`: the platform alone.
- `owner`: whoever owns the subject: a tenant, and the platform; or the platform alone.

A field is there in every event of its type, unless it is marked `?`.
"""


def main() -> int:
    written = page()
    if "--check" in sys.argv[1:]:
        if TARGET.exists() and TARGET.read_text() == written:
            return 0
        print(f"docs/{TARGET.name} is out of date: run tools/events.py", file=sys.stderr)
        return 1
    TARGET.write_text(written)
    return 0


def page() -> str:
    nouns: dict[str, list[EventType]] = {}
    for each in CATALOGUE.types.values():
        nouns.setdefault(each.name.partition(".")[0], []).append(each)
    return HEAD + "".join(section(noun, types) for noun, types in nouns.items())


def section(noun: str, types: list[EventType]) -> str:
    title = noun.replace("_", " ").capitalize()
    head = "| Type | What happened | Seen by | Subject | Fields |\n|---|---|---|---|---|\n"
    return f"\n## {title}\n\n{head}" + "".join(row(each) for each in types)


def row(each: EventType) -> str:
    subject = " or ".join(f"`{kind.prefix}_…`" for kind in each.subjects)
    fields = ", ".join(
        f"`{name}`{'' if field.required else '?'} {kind(field.schema)}"
        for name, field in each.fields.items()
    )
    return f"| `{each.name}` | {each.sentence} | {each.audience} | {subject} | {fields or '–'} |\n"


def kind(schema: dict[str, Any]) -> str:
    """A field's schema in a word or two."""
    match schema:
        case {"anyOf": [one, *_]}:
            return f"{kind(one)} or null"
        case {"pattern": str(pattern)}:
            return f"`{pattern.removeprefix('^')}…`"
        case {"enum": _}:
            words: list[str] = schema["enum"]
            return " \\| ".join(words)
        case {"format": "date-time"}:
            return "time"
        case {"type": "array"}:
            return "list of texts"
        case {"type": "string"}:
            return "text"
        case _:
            return str(schema["type"])


if __name__ == "__main__":
    sys.exit(main())
