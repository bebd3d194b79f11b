"""Access tokens of hosted realms at our doors: signed by their issuer, and of someone we know."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from penstock.central.access import grants
from penstock.central.realms.hosts import service as hosting
from penstock.central.realms.hosts import tokens
from penstock.central.realms.hosts.tokens import Person, Said
from penstock.central.realms.model import api_scopes
from penstock.central.realms.service import Realms
from penstock.central.realms.tokens import NotBelieved
from penstock.central.realms.users import invitations
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
    facts = await _facts(realms, said)
    tenant_id = TenantId(str(facts["tenant_id"]))
    key = await realms.published.key(tenant_id, str(facts["keys_url"]), said.kid)
    if key is None:
        raise NotBelieved
    now = realms.database.now(cast("datetime", facts["now"]))
    person = tokens.verify(token, said, key, audience=realms.public_url, now=now)
    if facts["user_id"] is None:
        await _first_time(realms, tenant_id, person)
        facts = await _facts(realms, said)
    return Actor(
        "user",
        str(facts["user_id"]),
        str(facts["role"]),
        tenant_id,
        api_scopes(person.scope),
        grants.read(facts["grants"]),
        person.second_factor,
        now.hour,
        now.isoweekday(),
        str(facts["user_id"]),
    )


async def _facts(realms: Realms, said: Said) -> Mapping[str, object]:
    """What is known of the realm, and of the user if there is one yet."""
    facts = await hosting.facts(realms.database, said.issuer, said.subject)
    if facts is None or facts["suspended"] or (facts["user_id"] and not facts["enabled"]):
        raise NotBelieved
    return facts


async def _first_time(realms: Realms, tenant_id: TenantId, person: Person) -> None:
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


async def admit(tx: Tx, tenant_id: TenantId, person: Person) -> User | None:
    """The user that this person is: known or invited by a verified address. Linked from now on."""
    user = await invitations.admit(tx, tenant_id, person.email, person.name)
    if user is not None and await hosting.link(tx, tenant_id, person.subject, user.id):
        audit.record(tx, users.actor_of(user), "user.link", user.id, issuer_subject=person.subject)
    return user
