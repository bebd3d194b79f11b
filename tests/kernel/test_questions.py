"""Several questions in one round trip: each is answered as if it had been asked alone."""

from collections.abc import Sequence

import asyncpg
import pytest

from penstock.kernel.db import Database
from penstock.kernel.questions import Question, ask, ask_all

pytestmark = pytest.mark.anyio

SERIES = "SELECT n FROM generate_series($1::int, $2::int) AS n"
CURSORS = "SELECT c FROM feed_cursors c WHERE source = ANY($1) ORDER BY source"


def series(first: int, last: int) -> Question[list[int]]:
    return Question(SERIES, (first, last), list)


def cursors(*sources: str) -> Question[dict[str, int]]:
    return Question(CURSORS, (sources,), lambda rows: {r["source"]: r["seq"] for r in rows})


@pytest.fixture
async def known(upper: Database) -> Database:
    async with upper.transaction() as tx:
        await tx.execute("INSERT INTO feed_cursors VALUES ('a', 1), ('b', 2), ('c', 3)")
    return upper


async def test_parameters_and_answers_do_not_mix(known: Database) -> None:
    few, more, none = series(1, 3), series(10, 11), series(5, 4)
    named, unknown = cursors("c", "a"), cursors("z")
    async with known.transaction() as tx:
        await ask_all(tx, [few, named, none, unknown, more])
    assert (few.answer, more.answer, none.answer) == ([1, 2, 3], [10, 11], [])
    assert (named.answer, unknown.answer) == ({"a": 1, "c": 3}, {})


async def test_a_question_can_be_asked_alone_and_again(known: Database) -> None:
    question = cursors("b")
    async with known.transaction() as tx:
        assert await ask(tx, question) == {"b": 2}
        await tx.execute("UPDATE feed_cursors SET seq = 9 WHERE source = 'b'")
        assert await ask(tx, question) == {"b": 9}
    assert question.answer == {"b": 9}


async def test_all_are_asked_in_one_statement(known: Database) -> None:
    """So their answers are of one moment."""
    statements: list[str] = []

    def note(record: "asyncpg.connection.LoggedQuery") -> None:
        statements.append(record.query)

    async with known.transaction() as tx:
        questions = [series(1, 1), cursors("a"), series(2, 2)]
        await ask_all(tx, questions)  # the connection learns what such rows are
        tx.connection.add_query_logger(note)
        await ask_all(tx, questions)
        tx.connection.remove_query_logger(note)
    assert len(statements) == 1


async def test_what_is_asked_wrongly_is_answered_by_nobody(known: Database) -> None:
    def reads(rows: Sequence[object]) -> int:
        return len(rows)

    wrong = Question("SELECT 1 / $1::int", (0,), reads)
    right = series(1, 2)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with known.transaction() as tx:
            await ask_all(tx, [right, wrong])
    with pytest.raises(IndexError):
        _ = right.answer
