"""The API's description is checked in, so that every change to it is seen."""

import json
from pathlib import Path

from penstock.central import app

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
