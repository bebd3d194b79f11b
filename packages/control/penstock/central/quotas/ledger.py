"""What a batch of leases may still take, at every level, without asking the database again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.central.quotas import store
from penstock.central.quotas.model import TOTAL, Level, Line, kind
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Problem
from penstock_contracts.ids import OrganizationId, ProjectId, TenantId


@dataclass(frozen=True)
class Demand:
    """GPUs that a project wants to hold."""

    tenant_id: TenantId
    organization_id: OrganizationId
    project_id: ProjectId
    family: str
    gpus: int

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """Every line it counts in, from the smallest scope to the largest."""
        scopes = (self.project_id, self.organization_id, self.tenant_id)
        return [(scope, family) for scope in scopes for family in (self.family, TOTAL)]


class Ledger:
    """The limits around some projects and what is held under them, as of one query.

    Loaded under the fleet's lock it stays true until the lock is given up, if every GPU
    that the holder gives out is taken here.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = {(line.scope_id, line.family): line for line in lines}

    @classmethod
    async def load(cls, tx: Tx, demands: Iterable[Demand]) -> "Ledger":
        scopes = {scope for demand in demands for scope, _ in demand.keys}
        return cls(await store.limited(tx, sorted(scopes)) if scopes else [])

    def refuse(self, demand: Demand) -> Problem | None:
        """Why it does not fit: the line with the least room. None: it fits into all."""
        lines = [self._lines[key] for key in demand.keys if key in self._lines]
        tightest = min(lines, key=_room, default=None)
        if tightest is None or demand.gpus <= _room(tightest):
            return None
        return _exceeded(tightest, demand)

    def never(self, demand: Demand) -> bool:
        """Whether it would not fit even if nothing else were held."""
        lines = [self._lines[key] for key in demand.keys if key in self._lines]
        return any(line.gpus_max is not None and demand.gpus > line.gpus_max for line in lines)

    def take(self, demand: Demand) -> None:
        """It is given: whoever comes later in the batch has that much less."""
        for key in demand.keys:
            if line := self._lines.get(key):
                self._lines[key] = replace(line, gpus_used=line.gpus_used + demand.gpus)


def _room(line: Line) -> int:
    return (line.gpus_max or 0) - line.gpus_used


def _exceeded(line: Line, demand: Demand) -> Problem:
    limit, used, room = line.gpus_max or 0, line.gpus_used, max(0, _room(line))
    fewer = f"ask for {room} or fewer, " if room else ""
    who = "the platform" if line.level is Level.TENANT else "an admin of your tenant"
    return Conflict(
        f"{line.level} {line.scope_id} holds {used} of its {kind(line.family, limit)}; "
        f"{demand.gpus} more do not fit",
        code="quota_exceeded",
        suggestion=f"{fewer}release a lease, or ask {who} for a higher limit",
        extras={
            "scope": line.level,
            "scope_id": line.scope_id,
            "family": line.family or None,
            "limit": limit,
            "used": used,
            "asked": demand.gpus,
        },
    )
