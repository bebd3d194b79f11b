"""`id_token_hint`: a client shows an id token that it has, to say whom it means."""

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from penstock.central.realms import tokens
from penstock.central.realms.model import ALGORITHM, Realm
from penstock.central.realms.parameters import Asked
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import NotBelieved

UNREADABLE = ""  # a hint that says nothing that can be believed


async def subject(realms: Realms, realm: Realm, asked: Asked) -> str | None:
    """Whom the client means; None if it does not say. It may have expired: it lets nobody in."""
    hint = asked.get("id_token_hint")
    if not hint:
        return None
    try:
        kid = tokens.open_up(hint)[0].get("kid")
        keys = {key.kid: key.public for key in await realms.keyring.published(realm.tenant_id)}
        if not isinstance(kid, str) or kid not in keys:
            return UNREADABLE
        decoded = jwt.decode(hint, ECKey.import_key(dict(keys[kid])), algorithms=[ALGORITHM])
        ours = decoded.header.get("typ", tokens.ID) == tokens.ID
        said = decoded.claims
        if not ours or said.get("iss") != realm.issuer or said.get("aud") != asked.client_id:
            return UNREADABLE
        return tokens.text(said.get("sub"))
    except (NotBelieved, JoseError, ValueError, RecursionError):
        return UNREADABLE
