"""Access tokens of hosted realms at our doors: signed by their issuer, and of someone we know."""

from collections.abc import Mapping

from penstock.central.access import grants
from penstock.central.realms.hosts import store, tokens
from penstock.central.realms.hosts.tokens import Person
from penstock.central.realms.model import api_scopes
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import NotBelieved
from penstock.central.realms.users import invitations
from penstock.central.realms.users import model as user_model
from penstock.central.realms.users import service as users
from penstock.central.realms.users.model import User
from penstock.kernel import audit
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Forbidden
from penstock_contracts.ids import TenantId


async def believe(realms: Realms, token: str) -> Actor:
    """The user behind a token. Raises NotBelieved; Unavailable if that cannot be known now.

    The issuer's keys are remembered, the rest is read at every call: whoever was disabled, or
    whose realm was suspended, a moment ago is refused now.
    """
    said = tokens.read(token)
    rows = await realms.database.fetch(store.FACTS, said.issuer, said.subject)
    if not rows:
        raise NotBelieved
    facts: Mapping[str, object] = dict(rows[0])
    tenant_id = TenantId(str(facts["tenant_id"]))
    if facts["suspended"] or (facts["user_id"] is not None and not facts["enabled"]):
        raise NotBelieved
    key = await realms.published.key(tenant_id, str(facts["keys_url"]), said.kid)
    if key is None:
        raise NotBelieved
    now = realms.database.now(rows[0]["now"])
    person = tokens.verify(token, said, key, audience=realms.public_url, now=now)
    if facts["user_id"] is not None:
        id, role = str(facts["user_id"]), str(facts["role"])
    else:
        id, role = await _first_time(realms, tenant_id, person)
    return Actor(
        "user",
        id,
        role,
        tenant_id,
        api_scopes(person.scope),
        grants.read(facts["grants"]),
        person.second_factor,
        now.hour,
        now.isoweekday(),
    )


async def _first_time(realms: Realms, tenant_id: TenantId, person: Person) -> tuple[str, str]:
    async with realms.database.transaction(tenant=tenant_id) as tx:
        user = await admit(tx, tenant_id, person)
    if user is None:
        raise Forbidden(
            "your sign-in is good, but nobody here invited you by an address that your realm says "
            "is verified",
            code="not_invited",
            suggestion="verify your address at your realm, and ask an admin of your tenant for "
            "an invitation: `penstock user invite`",
        )
    return user.id, user.role


async def admit(tx: Tx, tenant_id: TenantId, person: Person) -> User | None:
    """The user that this person is: known or invited by a verified address. Linked from now on."""
    address = user_model.normal(person.email or "")
    if address is None:
        return None
    user = await users.find_by_email(tx, tenant_id, address)
    if user is None:
        name = person.name or address
        user = await invitations.accept_by_address(tx, tenant_id, address, name)
    if user is None:  # by another request of theirs, just now?
        user = await users.find_by_email(tx, tenant_id, address)
    if user is None or user.disabled_at is not None:
        return None
    await store.link(tx, tenant_id, person.subject, user.id)
    audit.record(tx, users.actor_of(user), "user.link", user.id, issuer_subject=person.subject)
    return user
