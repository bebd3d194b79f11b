"""Faults of the database, by what they mean for whoever asked it."""

from typing import Final, cast

import asyncpg

# It is away, or cannot take anything now. The work did not happen, or may not have: safe to run
# again if it is idempotent.
LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # it stops, starts, or was told to end this session
    asyncpg.InsufficientResourcesError,  # connections, memory, room on its disk
    asyncpg.ReadOnlySQLTransactionError,  # a standby, or a primary that was fenced
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a session that dies between two queries looks like
    ConnectionError,
    OSError,
)
RACED: Final = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


def lost_in(error: BaseException) -> BaseException | None:
    """The lost database, if that is all that this says, in whatever it is wrapped."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        found = [lost_in(each) for each in group.exceptions]
        return None if None in found else found[0]
    # The workflow engine's database layer has exceptions of its own, which say it like this.
    if isinstance(error, LOST) or getattr(error, "connection_invalidated", False):
        return error
    return None if error.__cause__ is None else lost_in(error.__cause__)


def is_fault(error: BaseException) -> bool:
    """Whether the database failed, in whatever way; and not this program."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return all(is_fault(each) for each in group.exceptions)
    return lost_in(error) is not None or isinstance(error, asyncpg.PostgresError)
