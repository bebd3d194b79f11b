"""A realm that lives elsewhere: what it shall be, what it is, and the verb in between. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from penstock_contracts.drivers.realm import Hosted
from penstock_contracts.ids import InvitationId, TenantId

EMBEDDED: Final = "embedded"
FAULT_MAX: Final = 300
RETRY_MIN: Final = timedelta(milliseconds=500)
RETRY_MAX: Final = timedelta(minutes=1)


class State(StrEnum):
    NONE = "none"
    OPEN = "open"
    SUSPENDED = "suspended"
    REMOVED = "removed"


class Verb(StrEnum):
    ENSURE = "ensure"
    SUSPEND = "suspend"
    RESUME = "resume"
    REMOVE = "remove"
    INVITE = "invite"


LEADS_TO: Final = {
    Verb.ENSURE: State.OPEN,
    Verb.SUSPEND: State.SUSPENDED,
    Verb.RESUME: State.OPEN,
    Verb.REMOVE: State.REMOVED,
}


@dataclass(frozen=True)
class Guest:
    """Someone whose invitation the provider does not know of yet."""

    id: InvitationId
    email: str


@dataclass(frozen=True)
class HostedRealm:
    tenant_id: TenantId
    name: str
    provider: str
    desired: State = State.OPEN
    actual: State = State.NONE
    revision: int = 1
    hosted: Hosted | None = None
    refused: bool = False
    fault: str = ""
    failures: int = 0
    retry_at: datetime | None = None
    guest: Guest | None = None

    @property
    def verb(self) -> Verb | None:
        """One at a time: each is one call, and one row that says that it was made."""
        if self.desired is State.REMOVED:
            return None if self.actual is State.REMOVED else Verb.REMOVE
        if self.actual is State.NONE:
            return Verb.ENSURE
        if self.actual is not self.desired:
            return Verb.SUSPEND if self.desired is State.SUSPENDED else Verb.RESUME
        return Verb.INVITE if self.guest and self.actual is State.OPEN else None

    def wants(self, desired: State) -> "HostedRealm":
        """What was refused before is tried again: something else is asked for now."""
        return replace(
            self,
            desired=desired,
            revision=self.revision + 1,
            refused=False,
            fault="",
            failures=0,
            retry_at=None,
        )

    def did(self, verb: Verb, hosted: Hosted | None) -> "HostedRealm":
        return replace(
            self,
            actual=LEADS_TO.get(verb, self.actual),
            hosted=hosted or self.hosted,
            refused=False,
            fault="",
            failures=0,
            retry_at=None,
        )

    def failed(
        self, fault: str, now: datetime, least: timedelta, *, refused: bool
    ) -> "HostedRealm":
        pause = max(min(RETRY_MIN * 2 ** min(self.failures, 16), RETRY_MAX), least)
        return replace(
            self,
            refused=refused,
            fault=fault[:FAULT_MAX],
            failures=self.failures + 1,
            retry_at=now + pause,
        )
