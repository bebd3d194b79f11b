"""Passwords: argon2id, in threads of their own, so that hashing stops nothing else.

Hashing is dear, and strangers can ask for it. So those who wait for it are bounded, each address
gets a fair part of the room, and addresses take turns: one that floods waits for itself.
"""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from penstock.kernel.shares import Shares
from penstock.kernel.turns import Turns

T = TypeVar("T")
# At most two at a time: each takes 64 MiB and a core.
THREADS: Final = 2
ROOM: Final = 64  # for those at work and those who wait; a second or two of work


class Passwords:
    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
        self._room = Shares(ROOM, "sign-ins")
        self._turns = Turns(THREADS)
        # Checked for people who do not exist, so that they take as long as those who do.
        self._nobodys = self._hasher.hash("nobody has this password")

    @contextmanager
    def place(self, who: str) -> Generator["Place", None, None]:
        """Room to hash for this address; Unavailable, before anything happened, if it has none."""
        with self._room.hold(who):
            yield Place(self, who)

    async def hash(self, who: str, password: str) -> str:
        return await self._run(who, partial(self._hasher.hash, password))

    async def verify(self, who: str, stored: str | None, password: str) -> bool:
        fits = await self._run(who, partial(self._verify, stored or self._nobodys, password))
        return fits and stored is not None

    def _verify(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, who: str, work: Callable[[], T]) -> T:
        async with self._turns.turn(who):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class Place:
    """A place among those who hash."""

    passwords: Passwords
    who: str

    async def hash(self, password: str) -> str:
        return await self.passwords.hash(self.who, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether it is the password; never so, after as long a time, if there is none."""
        return await self.passwords.verify(self.who, stored, password)
