"""Passwords: argon2id, in threads of their own, so that hashing stops nothing else."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

T = TypeVar("T")
# At most two at a time: each takes 64 MiB and a core.
THREADS: Final = 2


class Passwords:
    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
        # Checked for people who do not exist, so that they take as long as those who do.
        self._nobodys = self._hasher.hash("nobody has this password")

    async def hash(self, password: str) -> str:
        return await self._run(partial(self._hasher.hash, password))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether it is the password; never so, after as long a time, if there is none."""
        fits = await self._run(partial(self._verify, stored or self._nobodys, password))
        return fits and stored is not None

    def _verify(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
