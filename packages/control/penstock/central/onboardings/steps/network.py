"""The network: a VRF, VLANs, a VNI, a partition key and prefixes, from the pools."""

from penstock.central.networks import service as networks
from penstock.central.onboardings import intents
from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did:
    wanted = (await intents.of(tx, job.file)).networks
    if wanted is None:
        return Did("the file asks for none", changed=False)
    given = await networks.ensure(tx, job.actor, job.tenant_id, wanted)
    if not given:
        return Did("it has all of it already", changed=False)
    return Did(", ".join(f"{each.kind} {each.shown}" for each in given))


async def undo(tx: Tx, job: Job, _before: Before) -> str:
    if not job.founded:
        return "what it was given stays; a host may speak with it already"
    returned = await networks.forget(tx, job.actor, job.tenant_id)
    return f"{returned} returned to the pools"
