"""`penstock tenant network`: what a tenant has of the pools."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from penstock_client import answers, session
from penstock_client.options import UNSAID, UNSET, Changing, Options
from penstock_client.screen import aged, column

app = App(name="network", help="A tenant's network: VRFs, VLANs, VNIs, partition keys, prefixes.")
Flag = Annotated[bool, Parameter(negative=())]
Lengths = Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())]

COLUMNS: Final = (
    column("KIND", "kind"),
    column("VALUE", "value"),
    column("SITE", "site"),
    aged("SINCE", "assigned_at"),
)


@app.command
def show(tenant: str, /, *, options: Options = UNSET) -> None:
    """Show what a tenant has."""
    with session.start(options) as run:
        page = run.client.tenants.network(tenant)
    answers.listing(options, page, COLUMNS, empty="nothing: `penstock tenant network expand`")


@app.command
def expand(
    tenant: str,
    /,
    *,
    site: str | None = None,
    vlans: int = 0,
    vni: Flag = False,
    pkey: Flag = False,
    ipv4: Lengths = (),
    ipv6: Lengths = (),
    options: Changing = UNSAID,
) -> None:
    """Give a tenant more. It keeps it until it is offboarded; its first VRF comes by itself.

    Parameters
    ----------
    site
        From the pools of this site; from the global ones if left out.
    vlans
        How many more VLANs.
    vni
        A VNI, if it has none there.
    pkey
        An InfiniBand partition key, if it has none there.
    ipv4
        Blocks of these lengths: 24 26.
    ipv6
        Blocks of these lengths: 56.
    """
    with session.start(options) as run:
        page = run.client.tenants.expand_network(
            tenant, site=site, vlans=vlans, vni=vni, pkey=pkey, ipv4=ipv4, ipv6=ipv6
        )
    answers.listing(options, page, COLUMNS, empty="it had all of that already")
