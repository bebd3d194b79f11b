"""Every table is listed in docs/operations.md with what bounds it, and nothing else is."""

import re
import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Final

import asyncpg
import pytest
from dbos import DBOS

from penstock_agent import journal
from tests.logins import owner_url

pytestmark = pytest.mark.anyio

DOCS: Final = Path(__file__).parents[2] / "docs/operations.md"
ROW: Final = re.compile(
    r"^\| (both|central|site|engine|agent) \| ([^|]+) \| (.{8,}) \|$", re.MULTILINE
)
TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = $1"


def listed(text: str) -> dict[str, list[str]]:
    """By plane, in the order in which they are listed."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for plane, names, _ in ROW.findall(text):
        for at in ("central", "site") if plane == "both" else (plane,):
            found[at] += re.findall(r"`(\w+)`", names)
    return dict(found)


def differences(known: list[str], there: set[str]) -> set[str]:
    """What is listed twice, or in vain, or not at all."""
    return {name for name in known if known.count(name) > 1} | set(known) ^ there


async def tables(url: str, schema: str = "public") -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {row["tablename"] for row in await connection.fetch(TABLES, schema)}
    finally:
        await connection.close()


async def test_every_table_is_bounded(central_url: str, site_url: str) -> None:
    known = listed(DOCS.read_text())
    assert differences(known["central"], await tables(central_url)) == set()
    assert differences(known["site"], await tables(site_url)) == set()
    DBOS.migrate(owner_url(site_url))
    assert differences(known["engine"], await tables(owner_url(site_url), "dbos")) == set()


def test_so_is_the_agents_journal() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(journal.SCHEMA)
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    there = {name for name in found if not name.startswith("sqlite_")}
    assert differences(listed(DOCS.read_text())["agent"], there) == set()


def test_a_table_that_is_not_listed_is_found() -> None:
    assert differences(["events"], {"events", "forgotten"}) == {"forgotten"}
    assert differences(["events", "gone"], {"events"}) == {"gone"}
    assert differences(["events", "events"], {"events"}) == {"events"}
