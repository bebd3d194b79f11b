"""What a request is judged by, read in one transaction before authlib judges it."""

from dataclasses import dataclass, field
from datetime import datetime

from penstock.central.realms.clients import service as clients
from penstock.central.realms.clients.model import Client
from penstock.central.realms.grants import store
from penstock.central.realms.grants.model import Code, Device, Refresh
from penstock.central.realms.keys.service import Signer
from penstock.central.realms.model import Realm
from penstock.central.realms.parameters import Asked
from penstock.central.realms.sessions import service as sessions
from penstock.central.realms.sessions.model import Session
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel.db import Tx
from penstock_contracts.ids import SessionId


@dataclass(frozen=True)
class Evidence:
    realm: Realm
    audience: str
    now: datetime
    client: Client | None
    signer: Signer | None = None
    code: Code | None = None
    device: Device | None = None
    refresh: Refresh | None = None
    session: Session | None = None  # of the refresh token, or of the browser
    user: User | None = None


@dataclass
class Decision:
    """What authlib decided, to be written afterwards."""

    session: Session | None = None  # that began
    session_id: SessionId | None = None  # that the tokens belong to
    refresh_token: str | None = field(default=None, repr=False)
    code: Code | None = None
    code_secret: str = field(default="", repr=False)
    device: Device | None = None
    replayed: bool = False  # what was used before came again, from whoever could use it


async def for_token(tx: Tx, realm: Realm, audience: str, signer: Signer, asked: Asked) -> Evidence:
    """All that the token endpoint can be asked about, each row locked until it is written."""
    client = await clients.find(tx, realm.tenant_id, asked.client_id)
    code = device = refresh = session = user = None
    match asked.get("grant_type"):
        case "authorization_code":
            code = await store.lock_code(tx, realm.tenant_id, asked.get("code"))
        case "refresh_token":
            refresh = await store.lock_refresh(tx, realm.tenant_id, asked.get("refresh_token"))
        case "client_credentials":
            pass
        case _:
            device = await store.lock_device(tx, realm.tenant_id, asked.get("device_code"))
    if refresh is not None:
        session = await sessions.lock(tx, refresh.session_id)
    elif code is not None:
        session = await sessions.lock(tx, code.browser_id)
    held = code or device or session
    if held is not None and held.user_id is not None:
        user = await users.find(tx, held.user_id)
    return Evidence(realm, audience, tx.now, client, signer, code, device, refresh, session, user)
