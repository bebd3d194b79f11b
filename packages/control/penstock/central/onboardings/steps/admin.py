"""The first admin: invited, so that nobody else ever knows their password."""

from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did
from penstock.central.realms.users import invitations
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did:
    email = job.file.admin.email
    invited = await invitations.ensure(tx, job.actor, job.tenant_id, email=email, role="admin")
    if not invited:
        return Did(f"{email} is in, or invited, already", changed=False)
    return Did(f"{email} invited")


async def undo(_tx: Tx, job: Job, _before: Before) -> str:
    return "goes with the realm" if job.founded else "the invitation stays"
