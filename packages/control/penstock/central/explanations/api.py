"""Explanations over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query

from penstock.central.explanations import service
from penstock.central.explanations.model import Explanation
from penstock.kernel.http.web import Caller, Tx, TxRoute, View
from penstock.kernel.names import Reference

router = APIRouter(prefix="/v1/access", tags=["roles"], route_class=TxRoute)


class NeedView(View):
    role: str
    scope: str
    scope_id: str


class ExplanationView(View):
    """`policies` are those that decided; none: nothing permits it. `needed`: any one of these
    roles, bound there, would. `revision`: of the policies in force at the replica that answered."""

    actor: str
    action: str
    resource: str
    allowed: bool
    policies: list[str]
    needed: list[NeedView]
    revision: str

    @classmethod
    def of(cls, found: Explanation) -> "ExplanationView":
        return cls(
            actor=found.actor,
            action=found.action,
            resource=found.resource,
            allowed=found.allowed,
            policies=list(found.policies),
            needed=[
                NeedView(role=need.role, scope=need.scope, scope_id=need.scope_id)
                for need in found.needed
            ],
            revision=found.revision,
        )


@router.get("/explain")
async def explain_access(
    actor: Caller,
    tx: Tx,
    action: Annotated[Reference, Query(description="Such as `allocation.create`.")],
    resource: Annotated[Reference | None, Query(description="What it would be done to.")] = None,
    subject: Annotated[
        Reference | None,
        Query(
            alias="actor", description="Who would do it: a user, key, client or service account."
        ),
    ] = None,
) -> ExplanationView:
    """Whether you may do something, by which policies, and which role would permit it. As an
    admin, also for others of your tenant."""
    found = await service.explain(tx, actor, action=action, resource=resource, actor=subject)
    return ExplanationView.of(found)
