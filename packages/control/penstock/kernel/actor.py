"""Who is acting: a person or a program with a key, a plane, or the system itself."""

from dataclasses import dataclass, field
from typing import Final

from penstock_contracts.ids import TenantId

NO_ROLE: Final = "none"  # only what grants give
Conditions = tuple[tuple[str, tuple[str, ...]], ...]  # each: its name, and what it allows


@dataclass(frozen=True)
class Grant:
    """A role at a place: it counts for everything in that place, if its conditions hold."""

    role: str
    level: str
    place: str
    conditions: Conditions = ()


@dataclass(frozen=True)
class Actor:
    """`tenant_id` is None for those who belong to the platform.

    `role` counts in all of the tenant (or platform), `grants` where they say. `scopes` limit
    what a token or key may be used for; None is no limit but the roles'. `hour` and `weekday`
    (Monday is 1) are when the call came, in UTC. `user_id` is the person whose token or personal
    key it is; empty if it is nobody's. `client_id` and `session_id` are those of its token: they
    decide nothing, so whoever differs in them alone is answered alike.
    """

    kind: str
    id: str
    role: str
    tenant_id: TenantId | None = None
    scopes: frozenset[str] | None = None
    grants: frozenset[Grant] = frozenset()
    second_factor: bool = False
    hour: int = 0
    weekday: int = 1
    user_id: str = ""
    client_id: str = field(default="", compare=False)
    session_id: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"


SYSTEM = Actor(kind="system", id="central", role="system")
