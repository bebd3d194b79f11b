"""The domain: the tenant itself, with its default organization."""

from penstock.central.onboardings import founding
from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.central.tenants import service as tenants
from penstock.central.tenants.model import Status, Tenant
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict


async def do(tx: Tx, job: Job) -> Did:
    name = job.file.tenant
    known = await tenants.named(tx, name)
    if known is not None:
        refuse_gone(known)
        return Did(f"{known.id} is there already", changed=False, tenant_id=known.id)
    made = await founding.found(tx, job.actor, name, Status.ONBOARDING)
    return Did(f"{made.id} made", tenant_id=made.id, founded=True)


async def undo(tx: Tx, job: Job, _before: Before) -> str:
    if not job.founded:
        return "it was there before and stays"
    await founding.forget(tx, job.actor, job.tenant_id, job.reason)
    return "forgotten; its name is free"


def refuse_gone(tenant: Tenant) -> None:
    if tenant.status not in (Status.ACTIVE, Status.SUSPENDED):
        raise Conflict(
            f"tenant {tenant.name} is {tenant.status}; it cannot be onboarded",
            code=f"tenant_{tenant.status}",
            suggestion="a name stays taken for ever: choose another",
        )
