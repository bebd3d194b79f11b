"""The first admin: invited, so that nobody else ever knows their password."""

from penstock.central.onboardings.job import Before, Job
from penstock.central.onboardings.model import Did, Pending
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.users import invitations
from penstock.kernel.db import Tx


async def do(tx: Tx, job: Job) -> Did | Pending:
    email = job.file.admin.email
    invited = await invitations.ensure(tx, job.actor, job.tenant_id, email=email, role="admin")
    waiting = await hosting.carries(tx, job.tenant_id, email)
    if waiting is not None:
        return Pending(waiting.fault or f"asked {waiting.provider} to invite {email}")
    if not invited and not job.resumed:
        return Did(f"{email} is in, or invited, already", changed=False)
    return Did(f"{email} invited")


async def undo(_tx: Tx, job: Job, _before: Before) -> str:
    return "goes with the realm" if job.founded else "the invitation stays"
