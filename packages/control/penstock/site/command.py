"""`penstock site`: run a site."""

from penstock.kernel import log, process, settings
from penstock.site import app
from penstock.site.settings import PREFIX, SiteSettings


def site(*, migrate: bool = False) -> None:
    """Run a site's control plane. It is set up by PENSTOCK_SITE_… in the environment.

    Parameters
    ----------
    migrate
        Bring the database up to date, as its owner (PENSTOCK_SITE_OWNER_URL), and run nothing.
    """
    chosen = settings.load_or_exit(SiteSettings, PREFIX)
    log.configure("site", chosen.log_level)
    if migrate:
        process.run(lambda _stopping: app.migrate(chosen))
    process.run(lambda stopping: app.serve(chosen, stopping))
