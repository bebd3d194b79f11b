"""Making a personal API key over HTTP."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from penstock.central.realms.personal_keys import service
from penstock.central.realms.personal_keys.service import LIFE_MAX
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View, shown_once
from penstock.kernel.names import Name

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=TxRoute)
Scope = Literal["read", "use", "administer"]


class NewPersonalKey(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = Field(default=["use"])
    days: Annotated[int, Field(ge=1, le=LIFE_MAX.days)] = 90


class PersonalKeyView(View):
    id: str
    name: str
    role: str
    scopes: list[str]
    expires_at: datetime
    token: str


@router.post("", status_code=201, dependencies=[Depends(shown_once)])
async def create_personal_key(body: NewPersonalKey, actor: Caller, tx: Tx) -> PersonalKeyView:
    """Make an API key for your own scripts, with a token whose scopes have `keys`. It is shown only
    now. It ends with the client through which it was made, and when your password is reset."""
    made, expires_at = await service.create(
        tx, actor, name=body.name, scopes=body.scopes, days=body.days
    )
    return PersonalKeyView(
        id=made.id,
        name=made.name,
        role=made.role,
        scopes=list(body.scopes),
        expires_at=expires_at,
        token=made.token,
    )
