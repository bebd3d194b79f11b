"""Ready: from now on the tenant leases."""

from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.central.tenants import life
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did:
    tenant = await tenants.lock(tx, job.tenant_id)
    if tenant.status is not Status.ONBOARDING:
        return Did(f"it is {tenant.status}", changed=False)
    await life.become(tx, job.actor, tenant, Status.ACTIVE, "activate", "onboarded")
    return Did("it can lease")


async def undo(_tx: Tx, _job: Job, _before: Before) -> str:
    raise AssertionError("nothing fails after the last step")
