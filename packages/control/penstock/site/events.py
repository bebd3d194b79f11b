"""Every event of a site. There are none yet: what happens here is reported, and told by central."""

from penstock.kernel.catalogue import Catalogue
from penstock_contracts.ids import SiteId


def catalogue(id: SiteId) -> Catalogue:
    return Catalogue(f"/penstock/sites/{id}", ())
