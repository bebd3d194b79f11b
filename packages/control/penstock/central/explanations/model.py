"""Why someone may do something, or why not."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """A role that would permit it, and where it would have to be bound."""

    role: str
    scope: str
    scope_id: str


@dataclass(frozen=True)
class Explanation:
    """`policies` are those that decided; none means that no policy permits it. `revision` is that
    of all that are in force in the process that answered."""

    actor: str
    action: str
    resource: str
    allowed: bool
    policies: tuple[str, ...]
    needed: tuple[Need, ...]
    revision: str
