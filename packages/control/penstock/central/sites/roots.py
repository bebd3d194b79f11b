"""What follows from central's root: a root apart above each site's authority, and the key that
signs orders.

Central's own root signs central's listeners and the sites that dial them, and no authority.
So whoever holds a site's authority can vouch for nobody but that site, to its own nodes.
"""

from penstock.central.sites.model import server_name
from penstock.kernel.authority import Authority
from penstock_contracts import identity
from penstock_contracts.identity import PrivateKey
from penstock_contracts.ids import SiteId


def above(root: Authority, id: SiteId, ca_public_key: bytes) -> Authority:
    """What a site's nodes trust. It signs the site's authority, for 90 days at a time, and no
    other: the key of a site that joins anew has another root, and the old one is done."""
    name = f"root of {id} {identity.fingerprint(ca_public_key)[:24]}"
    return root.root_apart(name, dns=server_name(id))


def order_key(root: Authority) -> PrivateKey:
    """Signs every order to a site."""
    return root.derived_key("orders to sites")
