"""The realm: the tenant's own issuer, with its keys, clients and flows; here, or at a provider."""

from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did, Pending
from penstock.central.realms import creation as realms
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.hosts.model import EMBEDDED, HostedRealm, State
from penstock.kernel.db import Tx
from penstock.kernel.errors import Conflict


async def do(tx: Tx, job: Job) -> Did | Pending:
    if await realms.exists(tx, job.tenant_id):
        hosted = await hosting.find(tx, job.tenant_id)
        if hosted is not None and job.resumed:
            return _answered(hosted)
        return Did("it has one already", changed=False)
    provider = job.file.realm or EMBEDDED
    if provider != EMBEDDED:
        await realms.order(tx, job.tenant_id, job.file.tenant, provider)
        return Pending(f"asked {provider} for it")
    await realms.create(tx, job.tenant_id, job.file.tenant)
    return Did(f"realms/{job.file.tenant}")


async def undo(tx: Tx, job: Job, _before: Before) -> str | Pending:
    if not job.founded:
        return "it stays"
    hosted = await hosting.want(tx, job.tenant_id, State.REMOVED)
    if hosted is not None and hosted.actual is not State.REMOVED:
        return Pending(hosted.fault or f"asked {hosted.provider} to remove it")
    await realms.forget(tx, job.tenant_id)
    return "forgotten, with its keys, clients and invitations"


def _answered(hosted: HostedRealm) -> Did | Pending:
    if hosted.refused:
        raise Conflict(hosted.fault)
    if hosted.hosted is None or hosted.actual is State.NONE:
        return Pending(hosted.fault or f"asked {hosted.provider} for it")
    return Did(hosted.hosted.issuer)
