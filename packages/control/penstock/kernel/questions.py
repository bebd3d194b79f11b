"""Several questions to the database in one round trip.

A question selects whole rows (`SELECT t FROM things t …`: of a table, a view, a named type) or
single values, so that the rows of each come back as one array, with their names and types.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from penstock.kernel.db import Tx

T = TypeVar("T")
PARAMETER: Final = re.compile(r"\$(\d+)")


@dataclass
class Question(Generic[T]):
    """What is asked, and how its rows are read. `answer` is there once it was asked."""

    sql: str
    args: Sequence[object]
    read: Callable[[Sequence[Any]], T]
    _answers: list[T] = field(default_factory=list[T])

    @property
    def answer(self) -> T:
        return self._answers[-1]

    def hear(self, rows: Sequence[Any]) -> None:
        self._answers.append(self.read(rows))


async def ask(tx: Tx, question: Question[T]) -> T:
    await ask_all(tx, [question])
    return question.answer


async def ask_all(tx: Tx, questions: Sequence[Question[Any]]) -> None:
    """One statement, so one look at the database: the answers fit each other."""
    sql = _together(tuple((question.sql, len(question.args)) for question in questions))
    row = await tx.fetchrow(sql, *(arg for question in questions for arg in question.args))
    if row is None:
        raise LookupError("a statement without a FROM has one row")
    for question, rows in zip(questions, row, strict=True):
        question.hear(rows)


@lru_cache(maxsize=64)
def _together(asked: tuple[tuple[str, int], ...]) -> str:
    """Each as an array, its parameters numbered after those of the ones before."""
    arrays: list[str] = []
    before = 0
    for sql, count in asked:
        numbered = PARAMETER.sub(lambda found, past=before: f"${int(found[1]) + past}", sql)
        arrays.append(f"ARRAY({numbered})")
        before += count
    return f"SELECT {', '.join(arrays)}"
