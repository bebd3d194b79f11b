"""`penstock tenant`: who may use the platform, their keys, networks and prepaid money."""

from typing import Final

from cyclopts import App

from penstock_client import amounts, answers, session
from penstock_client.commands import networks, tenancy
from penstock_client.options import UNSAID, UNSET, Changing, Options, Several
from penstock_client.screen import aged, column
from penstock_client.views.people import Role
from penstock_client.views.placement import Strategy

app = App(
    name="tenant",
    help="Tenants: who uses the platform, how they come and go, their keys and their money.",
)
key = App(name="key", help="A tenant's API keys.")
app.command(key)
placement = App(name="placement", help="Where a tenant's leases may go.")
app.command(placement)
app.command(networks.app)
tenancy.add_to(app)

COLUMNS: Final = (
    column("ID", "id"),
    column("NAME", "name"),
    column("STATUS", "status"),
    column("REASON", "status_reason"),
    aged("CREATED", "created_at"),
)


@app.command
def ls(*, options: Options = UNSET) -> None:
    """List tenants."""
    with session.start(options) as run:
        page = run.client.tenants.list()
    answers.listing(
        options,
        page,
        COLUMNS,
        empty="no tenants yet: `penstock tenant onboard`, or `penstock tenant create NAME`",
    )


@app.command
def show(id: str, /, *, options: Options = UNSET) -> None:
    """Show one tenant, by id or name."""
    with session.start(options) as run:
        answers.thing(options, run.client.tenants.get(id))


@app.command
def create(name: str, /, *, options: Changing = UNSAID) -> None:
    """Create a bare tenant. `penstock tenant onboard` makes one with all it needs."""
    with session.start(options) as run:
        made = run.client.tenants.create(name)
    answers.thing(options, made, next=f"penstock tenant key create {made['id']} --name first")


@app.command
def balance(id: str, /, *, options: Options = UNSET) -> None:
    """Show what a prepaid tenant has left, and what its leases cost per hour."""
    with session.start(options) as run:
        answers.thing(options, run.client.tenants.balance(id))


@app.command
def credit(
    id: str,
    /,
    *,
    amount: str,
    reason: str,
    currency: str = "USD",
    options: Options = UNSET,
) -> None:
    """Add money to a tenant's balance. The first credit makes it prepaid.

    Parameters
    ----------
    amount
        How much, in the currency: 250.00.
    reason
        What it is for; kept in the audit log.
    """
    micros = amounts.micros_of(amount, "--amount")
    with session.start(options) as run:
        made = run.client.tenants.credit(id, amount_micros=micros, currency=currency, reason=reason)
    answers.thing(options, made, next=f"penstock tenant balance {made['tenant']}")


@placement.command(name="show")
def show_placement(tenant: str, /, *, options: Options = UNSET) -> None:
    """Show where a tenant's leases may go."""
    with session.start(options) as run:
        answers.thing(options, run.client.tenants.placement(tenant))


@placement.command(name="set")
def set_placement(
    tenant: str,
    /,
    *,
    sites: Several = (),
    families: Several = (),
    skus: Several = (),
    images: Several = (),
    residency: Several = (),
    strategy: Strategy = "pack",
    price_max: str | None = None,
    weight: int = 1,
    options: Changing = UNSAID,
) -> None:
    """Replace a tenant's placement policy. What is left out is not restricted.

    Parameters
    ----------
    sites
        Only at these sites; one alone binds the tenant to it.
    families
        Only GPUs of these families.
    skus
        Only these SKUs, by name.
    images
        Only these images, by name.
    residency
        Only on nodes that have all of these tags.
    strategy
        Fill nodes that are in use already, or take the emptiest, unless a request says.
    price_max
        Only on nodes whose source asks no more per GPU and hour: 2.49.
    weight
        Its share of what those who wait are given, beside other tenants: 1 to 1000.
    """
    ceiling = None if price_max is None else amounts.micros_of(price_max, "--price-max")
    with session.start(options) as run:
        made = run.client.tenants.set_placement(
            tenant,
            sites=sites or None,
            families=families or None,
            skus=skus or None,
            images=images or None,
            residency=residency,
            strategy=strategy,
            price_micros_max=ceiling,
            weight=weight,
        )
    answers.thing(options, made)


@key.command(name="create")
def create_key(
    tenant: str, /, *, name: str, role: Role = "member", options: Changing = UNSAID
) -> None:
    """Create an API key. Its token is shown once.

    Parameters
    ----------
    name
        What the key is for.
    role
        What the key may do.
    """
    with session.start(options) as run:
        made = run.client.tenants.create_key(tenant, name=name, role=role)
    note = f"key {made['id']} ({made['role']}); its token is shown this once:"
    answers.secret(options, made, made["token"], note=note)
