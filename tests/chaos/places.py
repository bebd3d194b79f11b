"""Every failpoint of the platform, as the code itself declares them."""

from datetime import timedelta
from typing import Final, cast

import penstock.central.allocations.release
import penstock.central.offboardings.service
import penstock.central.onboardings.saga
import penstock.central.placement.commit
import penstock.central.reports
import penstock.site.sagas.workflows
import penstock.site.tasks.service
import penstock_agent.executor
import penstock_agent.journal
from penstock.kernel.db import Database
from penstock.kernel.wakeups import Wakeups
from penstock.site.leases.realize import Realize
from penstock.site.leases.release import Release
from penstock.site.tasks.service import Tasks
from penstock_contracts import failpoints
from penstock_contracts.identity import PrivateKey

DECLARING: Final = (
    penstock.central.allocations.release,
    penstock.central.offboardings.service,
    penstock.central.onboardings.saga,
    penstock.central.reports,
    penstock.site.tasks.service,
    penstock.central.placement.commit,
    penstock.site.sagas.workflows,
    penstock_agent.executor,
    penstock_agent.journal,
)
# A saga declares the places of its steps when it is made. These are never run.
_TASKS: Final = Tasks(
    cast("Database", None), cast("Wakeups", None), PrivateKey.generate(), timedelta(seconds=1)
)
SAGAS: Final = {saga.name: saga for saga in (Realize(_TASKS).saga, Release(_TASKS).saga)}
# How tenants come and go has tests of its own; no lease passes there.
_TENANTS: Final = ("central.onboarding.", "central.offboarding.")
TENANTS: Final = sorted(point for point in failpoints.DECLARED if point.startswith(_TENANTS))
# Only tenants whose realm lives elsewhere pass there: central's test_hosted_kills kills there.
HOSTED: Final = "central.realms.hosts.called"
# Only leases whose end is set pass there: protocol's test_endings kills there.
ENDING: Final = "central.ending.begun"
# Only what is old passes there: central's test_retention fails there.
RETENTION: Final = {
    point for point in failpoints.DECLARED if point.startswith("central.retention.")
}
DECLARED: Final = sorted(failpoints.DECLARED - {*TENANTS, HOSTED, ENDING, *RETENTION})


def steps(saga: str) -> list[str]:
    """Every place where a step of the saga can be made to fail."""
    return [
        point for point in DECLARED if point.startswith(f"site.{saga}.") and ".undo." not in point
    ]


def failure_that_leads_to(undo: str) -> str:
    """Where a step must fail so that it is undone."""
    return f"{undo.rpartition('.undo.')[0]}.do.after"
