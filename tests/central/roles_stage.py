"""One caller for each role, in the place that is asked about and in another one."""

import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock.local.postgres import EmbeddedPostgres

from . import plane, realm_stage, stand_in_site
from .conftest import catalog
from .plane import Api, Central, Json, Tenant
from .realm_stage import Browser, Realm

ROLES: Final = (
    "platform_admin", "platform_auditor", "site_operator", "supplier",
    "admin", "org_admin", "project_admin", "member", "viewer", "finance",
)  # fmt: skip
# The same roles elsewhere: at another site, in another tenant.
OTHERS: Final = ROLES[2:]
# People who signed in: their place and role. A token is good for five minutes.
USERS: Final = (("own", "admin"), ("own", "member"), ("other", "member"))
TOKEN_LASTS_S: Final = 120.0
LEVELS: Final = {
    "platform_admin": "platform", "platform_auditor": "platform",
    "site_operator": "site", "supplier": "site",
    "org_admin": "organization", "project_admin": "project",
}  # fmt: skip
# Written by calls that are denied, or by nobody's call: a site takes entries off its feed when
# it gets to it. What is put on a feed is counted in `feed_heads`.
NOT_COUNTED: Final = (
    "audit_entries", "audit_head", "audit_exports", "schema_migrations", "feed_entries",
    "retentions",
)  # fmt: skip


@dataclass
class Stage:
    central: Central
    tenant: Tenant
    other: Tenant
    ids: dict[str, str]
    own: dict[str, Api] = field(default_factory=dict[str, Api])
    others: dict[str, Api] = field(default_factory=dict[str, Api])
    users: dict[tuple[str, str], Api] = field(default_factory=dict[tuple[str, str], Api])
    people: dict[tuple[str, str], tuple[Realm, Browser]] = field(
        default_factory=dict[tuple[str, str], tuple[Realm, Browser]]
    )
    signed_in_at: float = float("-inf")

    async def ask(
        self, api: Api, operation: str, query: str, body: Json | None, caller: str
    ) -> int:
        method, _, path = operation.partition(" ")
        names = {**self.ids, "caller": caller.replace(" ", "-").replace("_", "-")}
        filled = {key: _fill(value, names) for key, value in (body or {}).items()} or None
        url = (path + query).format(**names)
        async with api.client.stream(method, url, json=filled, headers=api.headers) as response:
            return response.status_code  # the events' stream has no end, so it is not read

    async def census(self) -> Json:
        """What is in every table: a digest of its rows."""
        tables = await self.central.rows(
            "SELECT relname FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'public'::regnamespace ORDER BY 1"
        )
        names = [row["relname"] for row in tables if row["relname"] not in NOT_COUNTED]
        digest = "SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {} t"
        found = {name: await self.central.value(digest.format(name)) for name in names}
        changes = "SELECT count(*) FROM audit_entries WHERE action <> 'access.denied'"
        return {**found, "audit": await self.central.value(changes)}

    async def bound(self, name: str, role: str, **place: str) -> Api:
        """A service account with this one role."""
        return await bound(self.central, name, role, **place)


def _fill(value: object, names: Mapping[str, str]) -> object:
    return value.format(**names) if isinstance(value, str) else value


async def bound(central: Central, name: str, role: str, **place: str) -> Api:
    """`tenant` is whose account it is; the rest of `place` says where the role is bound."""
    tenant = place.get("tenant")
    owner = {} if tenant is None else {"tenant": tenant}
    account = await central.platform.made("/v1/service-accounts", name=name, **owner)
    inner = {k: v for k, v in place.items() if k != "tenant"} or owner
    await central.platform.made("/v1/role-bindings", subject=account["id"], role=role, **inner)
    key = await central.platform.made(f"/v1/service-accounts/{account['id']}/keys", name="k")
    return central.caller(key["token"])


async def _everyone(stage: Stage, tenant: Tenant, site: str, prefix: str) -> dict[str, Api]:
    organization = (await tenant.admin.get("/v1/organizations/default")).json["id"]
    places = {
        "platform": {},
        "site": {"site": site},
        "organization": {"tenant": tenant.id, "organization": organization},
        "project": {"tenant": tenant.id, "project": tenant.project},
        "tenant": {"tenant": tenant.id},
    }
    return {
        role: await stage.bound(
            f"{prefix}-{role.replace('_', '-')}", role, **places[LEVELS.get(role, "tenant")]
        )
        for role in (ROLES if prefix == "own" else OTHERS)
    }


async def sign_in(stage: Stage) -> None:
    """Tokens for the people, unless those they have will last for the next row."""
    if time.monotonic() - stage.signed_in_at < TOKEN_LASTS_S:
        return
    for who, (realm, browser) in stage.people.items():
        stage.users[who] = realm.api(await realm.device(browser))
    stage.signed_in_at = time.monotonic()


async def _join(stage: Stage) -> None:
    realms = {
        "own": Realm(stage.central, stage.tenant, "acme"),
        "other": Realm(stage.central, stage.other, "stranger"),
    }
    for place, role in USERS:
        realm = realms[place]
        browser = await realm.join(f"{role}-{place}@people.example", role)
        stage.people[place, role] = realm, browser


@asynccontextmanager
async def set_up(
    server: EmbeddedPostgres, template: str, folder: Path
) -> AsyncGenerator[Stage, None]:
    server.create_database("roles", template=template)
    url = server.serving_url("central", "roles")
    async with (
        plane.running(url, folder / "central") as central,
        stand_in_site.connected(central, folder / "site", nodes=3) as site,
        stand_in_site.connected(central, folder / "other", "site-b", nodes=1) as elsewhere,
    ):
        await catalog(central)
        tenant, other = await central.tenant("acme"), await central.tenant("stranger")
        lease = await tenant.member.made(
            "/v1/allocations", project="main", sku="h100.slice", gpus=1, site=site.id
        )
        platform, admin = central.platform, tenant.admin
        group = await admin.made("/v1/groups", name="team")
        account = await admin.made("/v1/service-accounts", name="robot")
        spare = await site.add(stand_in_site.Node("spare"))
        ids = {
            "spare": spare.id,
            "reenrolment": await stand_in_site.came_back(
                central, site, spare, stand_in_site.Node("other")
            ),
            "tenant": tenant.id, "project": tenant.project, "sku": "h100.slice",
            "site": site.id, "node": lease["node"], "slot": lease["slots"][0],
            "allocation": lease["id"], "group": group["id"], "account": account["id"],
            "dispute": await stand_in_site.disputed(site, tenant),
            "me": (await platform.get("/v1/me")).json["id"],
            "organization": (await tenant.viewer.get("/v1/organizations/default")).json["id"],
            **await realm_stage.things(central, tenant, "acme"),
            **await _coming_and_going(central),
        }  # fmt: skip
        stage = Stage(central, tenant, other, ids)
        stage.own = await _everyone(stage, tenant, site.id, "own")
        stage.others = await _everyone(stage, other, elsewhere.id, "other")
        await _join(stage)
        yield stage
        for _, browser in stage.people.values():
            await browser.client.aclose()
    server.drop_database("roles")


async def _coming_and_going(central: Central) -> dict[str, str]:
    """Pools, a template, a tenant that came and went."""
    platform = central.platform
    for kind in ("vrf", "vlan"):
        await platform.made("/v1/pools", name=f"{kind}s", kind=kind, first=1, last=99)
    await platform.put("/v1/templates/small")
    file = {"tenant": "guest", "admin": {"email": "a@b.example"}}
    begun = await platform.made("/v1/onboardings", **file)
    await central.until(begun["id"], "onboarding.done")
    gone = (await platform.post("/v1/tenants/guest/offboard", reason="left")).json["id"]
    await central.until(gone, "tenant.offboarded")
    return {"onboarding": begun["id"], "template": "small", "pool": "vlans", "gone": gone}


async def renew(stage: Stage) -> None:
    """Someone to bind a role to, a binding to take away, a group to delete."""
    tenant, platform = stage.tenant.id, stage.central.platform
    name = f"fresh-{secrets.token_hex(8)}"
    fresh = await platform.made("/v1/service-accounts", name=name, tenant=tenant)
    gone = await platform.made("/v1/service-accounts", name=f"{name}-2", tenant=tenant)
    binding = await platform.made(
        "/v1/role-bindings", subject=gone["id"], role="viewer", project=stage.tenant.project
    )
    team = await platform.made("/v1/groups", name=name, tenant=tenant)
    stage.ids.update(fresh=fresh["id"], binding=binding["id"], team=team["id"])
