"""The realm: the tenant's own issuer, with its keys, clients and flows."""

from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.central.realms import creation as realms
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did:
    if await realms.exists(tx, job.tenant_id):
        return Did("it has one already", changed=False)
    await realms.create(tx, job.tenant_id, job.file.tenant)
    return Did(f"realms/{job.file.tenant}")


async def undo(tx: Tx, job: Job, _before: Before) -> str:
    if not job.founded:
        return "it stays"
    await realms.forget(tx, job.tenant_id)
    return "forgotten, with its keys, clients and invitations"
