"""Who is acting: a person or a program with a key, a plane, or the system itself."""

from dataclasses import dataclass

from penstock_contracts.ids import TenantId


@dataclass(frozen=True)
class Actor:
    """`tenant_id` is None for those who belong to the platform.

    `scopes` limit what a token or key may be used for; None is no limit but the role's.
    """

    kind: str
    id: str
    role: str
    tenant_id: TenantId | None = None
    scopes: frozenset[str] | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"


SYSTEM = Actor(kind="system", id="central", role="system")
