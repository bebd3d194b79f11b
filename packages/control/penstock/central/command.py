"""`penstock central`: run the central plane."""

from penstock.central import app
from penstock.central.settings import PREFIX, CentralSettings
from penstock.kernel import log, process, settings


def central() -> None:
    """Run the central plane. It is set up by PENSTOCK_CENTRAL_… in the environment."""
    chosen = settings.load_or_exit(CentralSettings, PREFIX)
    log.configure("central", chosen.log_level)
    process.run(lambda: app.serve(chosen))
