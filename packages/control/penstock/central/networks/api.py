"""A tenant's network over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from penstock.central.networks import model, service
from penstock.central.networks.model import Assignment, Network
from penstock.kernel.errors import Invalid
from penstock.kernel.http.paging import Page
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Reference

router = APIRouter(prefix="/v1/tenants", tags=["networks"], route_class=TxRoute)

Lengths4 = Annotated[list[Annotated[int, Field(ge=8, le=32)]], Field(max_length=model.PREFIXES_MAX)]
Lengths6 = Annotated[
    list[Annotated[int, Field(ge=16, le=128)]], Field(max_length=model.PREFIXES_MAX)
]


class More(Body):
    """What is added. Prefixes are asked for by their lengths. No site: everywhere."""

    site: Reference | None = None
    vlans: Annotated[int, Field(ge=0, le=model.VLANS_MAX)] = 0
    vni: bool = False
    pkey: bool = False
    ipv4: Lengths4 = Field(default_factory=list[int])
    ipv6: Lengths6 = Field(default_factory=list[int])


class AssignmentView(View):
    id: str
    kind: str
    value: str
    site: str | None
    assigned_at: datetime

    @classmethod
    def of(cls, assignment: Assignment) -> "AssignmentView":
        return cls(
            id=assignment.id,
            kind=assignment.kind,
            value=assignment.shown,
            site=assignment.site_id,
            assigned_at=assignment.assigned_at,
        )


@router.get("/{id}/network")
async def get_network(id: str, actor: Caller, tx: Tx) -> Page[AssignmentView]:
    """What the tenant has: VRFs, VLANs, VNIs, partition keys and prefixes."""
    found = await service.get(tx, actor, id)
    return Page(items=[AssignmentView.of(each) for each in found])


@router.post("/{id}/network", status_code=201)
async def expand_network(id: str, body: More, actor: Caller, tx: Tx) -> Page[AssignmentView]:
    """Give the tenant more. Answers with what is new; it keeps that until it is offboarded."""
    more = Network(
        vlans=body.vlans,
        vnis=int(body.vni),
        pkeys=int(body.pkey),
        ipv4=tuple(body.ipv4),
        ipv6=tuple(body.ipv6),
    )
    if more == Network():
        raise Invalid("say what is to be added: vlans, vni, pkey, ipv4 or ipv6")
    given = await service.expand(tx, actor, id, more, site=body.site)
    return Page(items=[AssignmentView.of(each) for each in given])
