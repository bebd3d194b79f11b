"""A structured log line as people read it."""

import json
from typing import Final, cast

from penstock_client import words

FIRST: Final = ("timestamp", "level", "event")


def readable(line: str) -> str:
    """`12:00:01 warning  slot blocked  node=node_1`; any other text as it is."""
    try:
        parsed: object = json.loads(line)
    except ValueError:
        return line
    if not isinstance(parsed, dict):
        return line
    record = cast("dict[str, object]", parsed)
    at = str(record.get("timestamp", ""))
    clock = at[11:19] if len(at) > 19 else at
    fields = (f"{key}={words.plain(record[key])}" for key in record if key not in FIRST)
    head = [clock, f"{record.get('level', ''):<7}", str(record.get("event", ""))]
    return " ".join([*(part for part in head if part), *fields]).replace("\n", " ")
