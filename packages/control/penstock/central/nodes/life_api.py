"""Nodes' coming and going over HTTP: retire, replace, rejoin."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.nodes import api, joining, retirement
from penstock.central.nodes.api import NodeView
from penstock.central.sites.api import CentralTrust, TokenView
from penstock.central.sites.service import IssuedToken
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, shown_once
from penstock.kernel.names import Text

router = APIRouter(prefix="/v1/nodes", tags=["nodes"], route_class=TxRoute)


class Retirement(Body):
    reason: Annotated[Text, Field(min_length=1)]


@router.post("/{id}/retire", status_code=202)
async def retire_node(id: str, body: Retirement, actor: Caller, tx: Tx) -> NodeView:
    """Take a node out of service for good. Nothing new is placed there at once; it is retired when
    its last lease is over, and cannot come back."""
    return await api.view(tx, await retirement.retire(tx, actor, id, body.reason))


@router.post("/{id}/replace", status_code=201, dependencies=[Depends(shown_once)])
async def replace_node(id: str, actor: Caller, tx: Tx, trust: CentralTrust) -> TokenView:
    """A single-use token with which another machine joins under a retired node's name."""
    return _token(await joining.replace(tx, actor, id, trust))


@router.post("/{id}/rejoin-token", status_code=201, dependencies=[Depends(shown_once)])
async def create_rejoin_token(id: str, actor: Caller, tx: Tx, trust: CentralTrust) -> TokenView:
    """A single-use token with which a node that lost its key asks to come back. What it is made of
    is then shown as a re-enrolment, for an operator to approve or reject."""
    return _token(await joining.rejoin(tx, actor, id, trust))


def _token(issued: IssuedToken) -> TokenView:
    return TokenView(id=issued.id, token=issued.text, expires_at=issued.expires_at)
