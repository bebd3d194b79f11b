"""What follows from central's root: a root apart for each site, and the key that signs orders.

Central's own root signs central's listeners and the sites that dial them, and no authority.
So whoever holds a site's authority can vouch for nobody but that site, to its own nodes.
"""

from penstock.central.sites.model import server_name
from penstock.kernel.authority import Authority
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import SiteId


def of_site(root: Authority, id: SiteId) -> Authority:
    """What the site's nodes trust. It signs the site's authority, for 90 days at a time."""
    return root.root_apart(f"root of {id}", dns=server_name(id))


def order_key(root: Authority) -> PrivateKey:
    """Signs every order to a site."""
    return root.derived_key("orders to sites")
