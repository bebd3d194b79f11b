"""Shortages: the database is there, and cannot do its work for want of something.

A full disk, too little memory, no connection left, a server that takes no writes. Nothing of
what was asked has happened, and it goes on by itself once there is room: so whoever asked is told
503, what is missing, and when to ask again.
"""

from typing import Final, NamedTuple

import asyncpg

from penstock.kernel.errors import Unavailable

RETRY_AFTER_S: Final = 5


class Shortage(NamedTuple):
    code: str
    detail: str


# By SQLSTATE. The rest of class 53 (insufficient resources) is OTHER.
KNOWN: Final = {
    "53100": Shortage("disk_full", "the database's disk is full"),
    "53200": Shortage("out_of_memory", "the database has no memory left"),
    "53300": Shortage("too_many_connections", "the database takes no more connections"),
    "25006": Shortage("read_only", "the database takes no writes at the moment"),
}
OTHER: Final = Shortage("insufficient_resources", "the database lacks what this needs")
# These do not pass within the time that a caller waits.
LASTING: Final = (
    asyncpg.DiskFullError,
    asyncpg.OutOfMemoryError,
    asyncpg.ConfigurationLimitExceededError,
    asyncpg.ReadOnlySQLTransactionError,  # until another server is promoted
)
SHORT: Final = (asyncpg.InsufficientResourcesError, asyncpg.ReadOnlySQLTransactionError)


def refusal(error: BaseException) -> Unavailable | None:
    """What to tell whoever asked, if this is what went wrong."""
    if not isinstance(error, SHORT):
        return None
    found = KNOWN.get(str(error.sqlstate), OTHER)
    return Unavailable(
        f"{found.detail}; nothing of what you asked has happened",
        code=found.code,
        suggestion="ask again later; if it stays so, tell whoever runs this platform",
        retry_after_s=RETRY_AFTER_S,
    )
