"""A new noun of central: new files, and one line in each place that CONTRIBUTING names."""

import sys
from pathlib import Path
from typing import Final

from penstock.local.postgres import EmbeddedPostgres
from tests.tree.copies import ROOT, Copy

BADGES: Final = Path(__file__).with_name("badges")
CENTRAL: Final = "packages/control/penstock/central"
IDS: Final = "packages/contracts/penstock_contracts/ids.py"
SCHEMA: Final = f"{CENTRAL}/access/policies.cedarschema"

# Each place: what is there, and what is put before it.
PLACES: Final = {
    IDS: ("class PoolId(Id):", 'class BadgeId(Id):\n    prefix = "badge"\n\n\n'),
    SCHEMA: ('"organization.create",', '"badge.create", '),
    f"{CENTRAL}/routers.py": ("*realms.ROUTERS", "badges.router, "),
    f"{CENTRAL}/events.py": ("organizations, projects,", "badges, "),
    "pyproject.toml": ("organizations : projects :", "badges : "),
}
IMPORTED: Final = {"routers": "api", "events": "events"}


def add_badges(copy: Copy) -> None:
    noun = copy.root / CENTRAL / "badges"
    noun.mkdir()
    (noun / "__init__.py").touch()
    for file in BADGES.glob("*.py.txt"):
        if file.name != "use.py.txt":
            (noun / file.stem).write_text(file.read_text())
    schema = copy.root / "packages/control/penstock/schema/central"
    (schema / "9999_badges.sql").write_text((BADGES / "migration.sql").read_text())
    for place, (there, put) in PLACES.items():
        change(copy, place, there, put)
    change(copy, SCHEMA, '"organization.view",', '"badge.view", ')
    for file, part in IMPORTED.items():
        line = f"from penstock.central.badges import {part} as badges\n"
        change(copy, f"{CENTRAL}/{file}.py", "from penstock.central.bindings", line)


def change(copy: Copy, place: str, there: str, put: str) -> None:
    file = copy.root / place
    text = file.read_text()
    assert text.count(there) == 1, f"{place} has {there!r} {text.count(there)} times"
    file.write_text(text.replace(there, put + there))


def test_a_new_noun_is_new_files_and_a_line_in_each_place(
    copy: Copy, server: EmbeddedPostgres
) -> None:
    add_badges(copy)
    assert "0 broken" in copy.lint()
    use = copy.root / "use.py"
    use.write_text((BADGES / "use.py.txt").read_text())
    server.create_database("badges")
    ran = copy.run(sys.executable, str(use), server.url("badges"))
    server.drop_database("badges")
    assert ran.returncode == 0, ran.stderr
    # After what the migrations log.
    refused, hidden, known, happened, paths = ran.stdout.splitlines()[-5:]
    assert refused == "your role 'viewer' does not permit badge.create"
    assert hidden.startswith("there is no badge")
    assert known == "badge"
    assert happened == "badge.created"
    assert paths == "/v1/badges /v1/badges/{id}"


def test_contributing_names_each_place() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = text.partition("## Add a noun (central)")[2].partition("\n## ")[0]
    for place in PLACES:
        assert Path(place).name in steps, f"CONTRIBUTING.md does not say that {place} changes"
