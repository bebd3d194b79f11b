"""Drivers of kind `realm`: what hosts the realms of tenants."""

from dataclasses import dataclass
from typing import Final, Protocol

from penstock_contracts.drivers.registry import Kind

COMMAND_LINE: Final = "penstock-cli"
PORTAL: Final = "penstock-portal"


@dataclass(frozen=True)
class Wanted:
    """A tenant's realm, as it shall be."""

    tenant: str  # its id: whose the realm is, for ever
    name: str
    audience: str  # the API: what access tokens are for
    portal: str  # where the portal gets its codes


@dataclass(frozen=True)
class Hosted:
    """A realm that is there."""

    issuer: str  # exactly as in `iss`
    keys_url: str  # where its public keys are, as central reaches it
    welcome_url: str  # where someone who was invited begins


class RealmProvider(Protocol):
    """Hosts realms. `penstock_contracts.conformance.realm` tests these rules by their numbers.

    1. `ensure` makes the realm, or what is missing of it. Again, it answers the same and
       changes nothing; after a fault anywhere, calling it again completes the realm.
    2. A realm belongs to the tenant that it was made for. One of the same name that does not
       is a Conflict for every verb, and no verb changes it; `remove` leaves it alone.
    3. `issuer` is what its tokens say, no two tenants have the same, and `keys_url` has every
       key that signs for it.
    4. It has two public clients: the command line's, with the device flow, and the portal's,
       with codes and PKCE. Neither takes passwords.
    5. Access tokens of these clients are for the audience, say so in their type (`at+jwt`),
       and live five minutes.
    6. After `invite` someone with this address can become a person of the realm. No one knows
       a password of theirs, and the address is not verified until they prove it. Again, it
       changes nothing, except that they may be told twice.
    7. While a realm is suspended nobody gets a token; once it is resumed, those who were
       people of it do. Asking for what is so changes nothing.
    8. After `remove` nothing is left of the realm. One that is not there is removed.
    9. Nothing is raised but what is in `faults.CLOSED_SET`. Gone is what `invite`, `suspend`
       and `resume` say of a realm that is not there.
    10. Every call ends within a bounded time, and no secret is in a message or a repr.
    """

    async def ensure(self, wanted: Wanted) -> Hosted: ...

    async def invite(self, wanted: Wanted, email: str) -> None: ...

    async def suspend(self, wanted: Wanted) -> None: ...

    async def resume(self, wanted: Wanted) -> None: ...

    async def remove(self, wanted: Wanted) -> None: ...


REALM: Final = Kind[RealmProvider]("realm", "Hosts the realms of tenants, where people sign in.")
