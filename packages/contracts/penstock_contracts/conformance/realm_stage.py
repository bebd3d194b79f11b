"""What whoever tests a realm driver provides: the driver, and what only its outside can show."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from penstock_contracts.drivers.realm import RealmProvider, Wanted

Json = dict[str, Any]


class RealmStage(Protocol):
    """One driver, opened, at one vendor."""

    @property
    def provider(self) -> RealmProvider: ...

    @property
    def secrets(self) -> Sequence[str]:
        """What the provider was configured with and must never tell."""
        ...

    def silent(self) -> AbstractAsyncContextManager[RealmProvider | None]:
        """The same driver, whose vendor takes calls and never answers; None if there is no
        vendor besides this process."""
        ...

    async def wanted(self) -> Wanted:
        """A tenant without a realm."""
        ...

    async def another(self, wanted: Wanted) -> Wanted:
        """The same name, for another tenant."""
        ...

    async def exists(self, wanted: Wanted) -> bool: ...

    async def people(self, wanted: Wanted) -> list[tuple[str, bool]]:
        """Who is there or invited, and whether their address is verified."""
        ...

    async def become(self, wanted: Wanted, email: str) -> None:
        """Whoever was invited proves that the address is theirs and can sign in."""
        ...

    async def tokens(self, wanted: Wanted, email: str) -> Json | None:
        """Of the command line, for someone who is in; None if they are refused."""
        ...

    async def tidy(self, wanted: Wanted) -> None:
        """Take away what a test left, if anything would stay."""
        ...
