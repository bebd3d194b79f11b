"""Who calls: by an API key, or by an access token of a tenant's realm."""

from typing import Final

from fastapi import Request, WebSocket

from penstock.central.access import keys
from penstock.central.access.keys import Held, Holders
from penstock.central.realms import bearer, hosted_bearer, tokens
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import NotBelieved
from penstock.kernel.actor import Actor
from penstock.kernel.errors import Unauthenticated
from penstock.kernel.http.gateway import Visitor

# The same words whatever was wrong with it: a forger learns nothing.
REFUSED: Final = "this token is not good here: it ran out, was revoked, or is not for this API"


def recall(holders: Holders, connection: Request) -> Held | None:
    """Who called with this key before, for whoever asks later whether it still holds."""
    visitor: Visitor = connection.state.visitor
    if visitor.party is None:
        return None
    token = keys.presented(connection)
    return None if "." in token else holders.recall(token)


async def authenticate(realms: Realms, holders: Holders, connection: Request | WebSocket) -> Actor:
    """The actor behind a request. Keys have no dots, tokens have two."""
    token = keys.presented(connection)
    if "." not in token:
        return await holders.authenticate(token)
    try:
        if realms.name_in(tokens.issuer_of(token)) is None:
            return await hosted_bearer.believe(realms, token)
        return (await bearer.believe(realms, token)).actor
    except NotBelieved:
        raise Unauthenticated(REFUSED, suggestion="sign in again: `penstock login`") from None
