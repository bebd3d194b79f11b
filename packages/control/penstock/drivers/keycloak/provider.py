"""Realms at Keycloak. Every verb finds first what is there, so any may be called again."""

from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, urlencode

from penstock.drivers.keycloak import blueprints
from penstock.drivers.keycloak.admin import Admin, Json
from penstock_contracts.drivers.faults import Conflict, Gone, Transient
from penstock_contracts.drivers.realm import Hosted, Wanted


@dataclass(frozen=True)
class Keycloak:
    """Keeps the rules of RealmProvider."""

    admin: Admin

    async def ensure(self, wanted: Wanted) -> Hosted:
        if await self._find(wanted) is None:
            made = blueprints.realm(wanted)
            await self.admin.call("POST", "", made, expected=(201, 409))
            # 409: by an earlier call of ours, or by someone else
            if await self._find(wanted) is None:
                raise Transient(f"realm {wanted.name} was made, and is gone again")
        await self._ensure_scopes(wanted)
        await self._ensure_clients(wanted)
        return await self._hosted(wanted)

    async def invite(self, wanted: Wanted, email: str) -> None:
        realm = await self._here(wanted)
        users = f"{_path(wanted)}/users"
        query = urlencode({"email": email, "exact": "true"})
        person = blueprints.person(email)
        await self.admin.call("POST", users, person, expected=(201, 409))
        found = (await self.admin.call("GET", f"{users}?{query}", expected=(200,))).things
        if not found:
            raise Conflict(f"{email} is the name of someone else in realm {wanted.name}")
        open_actions = found[0].get("requiredActions")
        if realm.get("smtpServer") and open_actions:
            url = f"{users}/{quote(str(found[0].get('id')), safe='')}/execute-actions-email"
            await self.admin.call("PUT", url, open_actions, expected=(200, 204))

    async def suspend(self, wanted: Wanted) -> None:
        await self._enable(wanted, enabled=False)

    async def resume(self, wanted: Wanted) -> None:
        await self._enable(wanted, enabled=True)

    async def remove(self, wanted: Wanted) -> None:
        realm = await self._look(wanted)
        if realm is not None and _owner(realm) == wanted.tenant:
            await self.admin.call("DELETE", _path(wanted), expected=(204, 404))

    async def _enable(self, wanted: Wanted, *, enabled: bool) -> None:
        realm = await self._here(wanted)
        if realm.get("enabled") is not enabled:
            await self.admin.call("PUT", _path(wanted), {"enabled": enabled}, expected=(204,))

    async def _look(self, wanted: Wanted) -> Json | None:
        answer = await self.admin.call("GET", _path(wanted), expected=(200, 404))
        if answer.status == 200 and "enabled" not in answer.thing:
            # Little more than its name: so it is seen with a token that is older than the realm.
            self.admin.renew()
            answer = await self.admin.call("GET", _path(wanted), expected=(200, 404))
        return None if answer.status == 404 else answer.thing

    async def _find(self, wanted: Wanted) -> Json | None:
        """The tenant's own realm."""
        realm = await self._look(wanted)
        if realm is not None and _owner(realm) != wanted.tenant:
            raise Conflict(
                f"there is a realm {wanted.name} at {self.admin.address} that is not this tenant's"
            )
        return realm

    async def _here(self, wanted: Wanted) -> Json:
        realm = await self._find(wanted)
        if realm is None:
            raise Gone(f"there is no realm {wanted.name} at {self.admin.address}")
        return realm

    async def _ensure_scopes(self, wanted: Wanted) -> None:
        path = f"{_path(wanted)}/client-scopes"
        there = (await self.admin.call("GET", path, expected=(200,))).things
        known = {scope.get("name") for scope in there}
        for name in blueprints.API_SCOPES:
            if name not in known:
                made = blueprints.scope(name)
                await self.admin.call("POST", path, made, expected=(201, 409))

    async def _ensure_clients(self, wanted: Wanted) -> None:
        path = f"{_path(wanted)}/clients"
        for client in blueprints.clients(wanted):
            query = urlencode({"clientId": str(client["clientId"])})
            there = (await self.admin.call("GET", f"{path}?{query}", expected=(200,))).things
            if not there:
                await self.admin.call("POST", path, client, expected=(201, 409))

    async def _hosted(self, wanted: Wanted) -> Hosted:
        """Its issuer by its own words: Keycloak may have another name for users than for us."""
        name = quote(wanted.name, safe="")
        found = await self.admin.public(f"/{name}/.well-known/openid-configuration")
        issuer = found.thing.get("issuer")
        if found.status >= 500:
            raise Transient(f"realm {wanted.name} does not describe itself: {found.status}")
        if not isinstance(issuer, str) or not issuer.endswith(f"/realms/{name}"):
            raise Conflict(f"realm {wanted.name} does not say its issuer; is it enabled?")
        keys = f"{self.admin.address}/realms/{name}/protocol/openid-connect/certs"
        return Hosted(issuer, keys, f"{issuer}/account")


def _path(wanted: Wanted) -> str:
    return f"/{quote(wanted.name, safe='')}"


def _owner(realm: Json) -> object:
    attributes = realm.get("attributes")
    if not isinstance(attributes, dict):
        return None
    return cast("Json", attributes).get(blueprints.MARK)
