"""`penstock central`: run the central plane."""

import sys
from pathlib import Path

from penstock.central import app
from penstock.central.access import in_force
from penstock.central.access.rules import PoliciesInvalid
from penstock.central.settings import PREFIX, CentralSettings
from penstock.kernel import log, process, settings


def central(*, check_policies: Path | None = None, migrate: bool = False) -> None:
    """Run the central plane. It is set up by PENSTOCK_CENTRAL_… in the environment.

    Parameters
    ----------
    check_policies
        A file for PENSTOCK_CENTRAL_POLICIES: say whether it is good, and run nothing. Exits with 1
        if it is not.
    migrate
        Bring the database up to date, as its owner (PENSTOCK_CENTRAL_OWNER_URL), and run nothing.
    """
    if check_policies is not None:
        sys.exit(_check(check_policies))
    chosen = settings.load_or_exit(CentralSettings, PREFIX)
    log.configure("central", chosen.log_level)
    if migrate:
        process.run(lambda _stopping: app.migrate(chosen))
    process.run(lambda stopping: app.serve(chosen, stopping), linger_s=chosen.stop_linger_s)


def _check(file: Path) -> int:
    try:
        _, policies = in_force.load(file)
    except PoliciesInvalid as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1
    print(f"{file} is good; with it, the policies are revision {policies.revision}")
    return 0
