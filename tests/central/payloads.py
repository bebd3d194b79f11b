"""What is in the event log is as the catalogue says, value by value."""

import re
from datetime import datetime
from typing import Any

from penstock.central.events import CATALOGUE
from penstock.kernel.catalogue import Catalogue
from penstock.kernel.db import Database

Json = dict[str, Any]
KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


async def check(database: Database) -> None:
    async with database.transaction() as tx:
        rows = await tx.fetch("SELECT type, subject, tenant_id, data FROM events ORDER BY seq")
    wrong = {fault for row in rows for fault in faults(CATALOGUE, dict(row))}
    assert not wrong, "\n".join(sorted(wrong))


def faults(catalogue: Catalogue, event: Json) -> list[str]:
    type, data = event["type"], event["data"]
    catalogue.check(type, event["tenant_id"], data)
    known = catalogue.types[type]
    wrong = [
        f"{type}: {name} is {data[name]!r}, which is not {field.schema}"
        for name, field in known.fields.items()
        if name in data and not fits(field.schema, data[name])
    ]
    if event["subject"].rpartition("_")[0] not in {kind.prefix for kind in known.subjects}:
        wrong.append(f"{type}: its subject {event['subject']} is not {known.subjects}")
    return wrong


def fits(schema: Json, value: Any) -> bool:
    """Whether the value is as the schema says: as much of JSON Schema as the catalogue uses."""
    if "anyOf" in schema:
        return any(fits(each, value) for each in schema["anyOf"])
    if type(value) not in KINDS[schema["type"]]:  # a bool is no integer
        return False
    if schema["type"] == "array":
        return all(fits(schema["items"], each) for each in value)
    if schema.get("format") == "date-time":
        return datetime.fromisoformat(value).tzinfo is not None
    if "enum" in schema:
        return value in schema["enum"]
    return re.match(schema.get("pattern", ""), str(value)) is not None
