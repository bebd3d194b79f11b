"""Every table has one owner, and SQL touches it elsewhere only for a reason that is given here."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from tests.tree import statements
from tests.tree.statements import Touch

PENSTOCK: Final = Path(__file__).parents[2] / "packages/control/penstock"

# Who writes or reads what is another's: why, and which tables.
WRITERS: Final[Mapping[str, tuple[str, Set[str]]]] = {
    "central.fleet_history": (
        "is the fleet's log as history: reads it, and trims it",
        {"fleet_changes"},
    ),
    "central.placement": (
        "places in bulk: leases and their lines of the fleet's log in one statement of a batch",
        {"allocations", "fleet_changes"},
    ),
}
READERS: Final[Mapping[str, tuple[str, Set[str]]]] = {
    "central.access": (
        "who calls, and all that they may, is found in one statement at every call",
        {"group_members", "realm_clients", "realms", "role_bindings", "service_accounts", "users"},
    ),
    "central.allocations": (
        "shows leases by names, with the fences that the log gave; finds those of a node by slots",
        {"fleet_changes", "projects", "skus", "slots"},
    ),
    "central.balances": (
        "what a batch may still spend is reckoned from what is held, in one round trip",
        {"allocations", "usage_segments"},
    ),
    "central.bindings": (
        "who is bound, by whichever kind of subject they are; where, by project",
        {"api_keys", "groups", "projects", "realm_clients", "service_accounts", "users"},
    ),
    "central.disputes": ("a list reaches as far as projects do", {"projects"}),
    "central.explanations": (
        "explains the rights of any kind of subject",
        {"api_keys", "realm_clients", "service_accounts", "users"},
    ),
    "central.fleet_history": (
        "reads the fleet as it was, and exports what freed slots, with its proofs",
        {"claims", "cleanup_proofs", "fleet_changes"},
    ),
    "central.groups": ("shows members by name", {"service_accounts", "users"}),
    "central.nodes": ("shows a node with its site's tags and whether that is away", {"sites"}),
    "central.placement": ("learns what slots are made of, in the batch's connection", {"slots"}),
    "central.quotas": ("limits of a tenant are found with those of its projects", {"projects"}),
    "central.realms": (
        "who comes with a token is found in one statement, the key that signed it included",
        {"hosted_realms", "realm_clients", "realm_keys", "revoked_tokens", "sessions", "users"},
    ),
    "central.realms.grants": (
        "a client is let in while a consent, a session or a key of its is good",
        {"api_keys", "realm_clients", "sessions"},
    ),
    "central.realms.hosts": (
        "who comes with another issuer's token is found in one statement",
        {"invitations", "realms", "users"},
    ),
    "central.realms.sessions": (
        "forgets a session once nothing refers to it",
        {"authorization_codes", "device_codes", "refresh_tokens"},
    ),
    "central.reenrolments": ("shows whose key is to be replaced, and the one in force", {"nodes"}),
    "central.slots": (
        "a slot's state is that of its claim and of its node",
        {"allocations", "claims", "cleanup_proofs", "nodes"},
    ),
    "central.usage": (
        "shows usage by SKUs' names, a gang's by its members; a list reaches as far as projects do",
        {"allocations", "projects", "skus"},
    ),
    "kernel.events": (
        "knows where its log begins, and who has not handled all of it",
        {"event_consumers", "log_starts"},
    ),
    "kernel.consumers": ("reads the log of events, and how far it goes", {"events", "feed_heads"}),
}
# Nobody's SQL: only functions and triggers of the schema touch them.
BY_SCHEMA: Final = {"central": {"spent"}, "site": {"audit_entries", "audit_head"}}


def faults(tables: Set[str], touches: Iterable[Touch]) -> list[str]:
    """What is touched by others than its owner, in words; and what has no owner, or several."""
    by_table: dict[str, dict[str, list[Touch]]] = {table: defaultdict(list) for table in tables}
    for touch in touches:
        if not _excepted(touch):
            by_table[touch.table][touch.noun].append(touch)
    found: list[str] = []
    for table, nouns in sorted(by_table.items()):
        if len(nouns) != 1:
            places = [
                f"{t.place} {'writes' if t.writes else 'reads'}" for n in nouns for t in nouns[n]
            ]
            found.append(f"{table} has {len(nouns)} owners: {', '.join(places) or 'nobody'}")
    return found


def _excepted(touch: Touch) -> bool:
    known = WRITERS if touch.writes else READERS
    return touch.table in known.get(touch.noun, ("", frozenset[str]()))[1]


def unused(touches: Iterable[Touch]) -> set[tuple[str, str]]:
    """Exceptions that nothing needs."""
    declared = {
        (noun, table, known is WRITERS)
        for known in (WRITERS, READERS)
        for noun, (_, tables) in known.items()
        for table in tables
    }
    return {each[:2] for each in declared - {(t.noun, t.table, t.writes) for t in touches}}


@pytest.fixture
def tables(new_database: Callable[[str], str]) -> dict[str, set[str]]:
    """Tables and views of each plane. Invariants are read by their prefix, each as it comes."""

    async def ask(plane: str) -> set[str]:
        connection = await asyncpg.connect(new_database(plane))
        rows = await connection.fetch(
            """
            SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
                AND relkind IN ('r', 'p', 'v') AND relname NOT LIKE 'invariant\\_%'
            """
        )
        await connection.close()
        return {row["relname"] for row in rows}

    return {plane: asyncio.run(ask(plane)) for plane in BY_SCHEMA}


def test_every_table_has_one_owner(tables: dict[str, set[str]]) -> None:
    everywhere: list[Touch] = []
    for plane, those in tables.items():
        touches = statements.touches(PENSTOCK, plane, those)
        everywhere += touches
        assert faults(those - BY_SCHEMA[plane], touches) == []
        assert BY_SCHEMA[plane].isdisjoint({touch.table for touch in touches})
    assert unused(everywhere) == set()


@pytest.mark.parametrize("plane", BY_SCHEMA)
def test_sql_names_its_tables(plane: str) -> None:
    every_invariant = "kernel/invariants.py"
    assert statements.unnamed(PENSTOCK, plane) == {every_invariant}


def test_a_table_whose_name_is_put_in_is_found(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "things.py").write_text('SQL = f"SELECT 1 FROM {table}"')
    assert statements.unnamed(tmp_path, "site") == {"kernel/things.py"}


PLANTED: Final = {
    "a write": 'SQL = "UPDATE slots SET approved_at = now()"',
    "a read": 'async def f(tx): await tx.fetch("SELECT 1 FROM pools p JOIN slots s ON true")',
    "a read beside another": 'SQL = f"SELECT {X} FROM skus k, slots"',
    "a deletion": 'SQL = """\n    DELETE FROM slots\n"""',
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_table_touched_by_another_noun_is_found(tmp_path: Path, planted: str) -> None:
    for noun, text in (("slots", 'SQL = "INSERT INTO slots VALUES (1)"'), ("skus", planted)):
        (tmp_path / "central" / noun).mkdir(parents=True)
        (tmp_path / "central" / noun / "store.py").write_text(text)
    touches = statements.touches(tmp_path, "central", {"slots"})
    (found,) = faults({"slots"}, touches)
    assert found.startswith("slots has 2 owners:")
    assert "central/skus/store.py" in found


def test_a_table_that_nobody_touches_is_found() -> None:
    assert faults({"slots"}, []) == ["slots has 0 owners: nobody"]
