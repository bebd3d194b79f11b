"""`penstock site`: run a site."""

from penstock.kernel import log, process, settings
from penstock.site import app
from penstock.site.settings import PREFIX, SiteSettings


def site() -> None:
    """Run a site's control plane. It is set up by PENSTOCK_SITE_… in the environment."""
    chosen = settings.load_or_exit(SiteSettings, PREFIX)
    log.configure("site", chosen.log_level)
    process.run(lambda stopping: app.serve(chosen, stopping))
