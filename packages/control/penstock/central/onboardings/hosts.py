"""Where a tenant's realm is: chosen when it is made, and for ever."""

from dataclasses import dataclass

from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.hosts.model import EMBEDDED
from penstock.central.tenants.model import Tenant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict, Invalid


@dataclass(frozen=True)
class Hosts:
    """The providers that this central knows, and the one for whoever names none."""

    known: tuple[str, ...]
    default: str

    async def choose(self, tx: Tx, said: str | None, tenant: Tenant | None) -> str:
        """The provider of the tenant's realm. Raises if that cannot be."""
        if tenant is None:
            chosen = said or self.default or EMBEDDED
            if chosen not in (EMBEDDED, *self.known):
                raise self._unknown(chosen)
            return chosen
        there = await hosting.provider_of(tx, tenant.id)
        if said not in (None, there):
            raise Conflict(
                f"the realm of {tenant.name} is {there}; it cannot become {said}",
                code="realm_fixed",
                suggestion="leave `realm` out of the file: people stay where they are",
            )
        return there

    def _unknown(self, chosen: str) -> Invalid:
        known = ", ".join((EMBEDDED, *self.known))
        return Invalid(
            f"realm: {chosen!r} is not set up here; there is {known}",
            code="unknown_realm_provider",
            suggestion=f"choose another; or an operator writes a table realm.{chosen} into the "
            "file PENSTOCK_CENTRAL_DRIVERS",
        )
