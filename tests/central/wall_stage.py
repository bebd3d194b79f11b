"""Both sides of the wall between tenants: a row in every table, and the app role by itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg
import orjson
from logins import owner_url, superuser_url

from penstock_contracts import wire_pb2 as wire

from . import realm_stage
from .plane import Central, Json, Tenant
from .raw_sql import Table
from .realm_stage import Realm
from .stand_in_site import StandInSite

APP: Final = "penstock_central_app"


@asynccontextmanager
async def app_role(url: str, tenant: str = "") -> AsyncGenerator[asyncpg.Connection, None]:
    connection = await asyncpg.connect(url, server_settings={"role": APP})
    try:
        async with connection.transaction():
            if tenant:
                await connection.execute("SELECT set_config('app.tenant', $1, true)", tenant)
            yield connection
    finally:
        await connection.close()


async def tenant_tables(url: str) -> list[str]:
    owner = await asyncpg.connect(owner_url(url))
    rows = await owner.fetch(
        """
        SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
            AND a.attname = 'tenant_id' AND NOT a.attisdropped ORDER BY 1
        """
    )
    await owner.close()
    return [row["relname"] for row in rows]


async def use(central: Central, site: StandInSite, tenant: Tenant, realm: str = "acme") -> str:
    """Leave a row of this tenant in every table that tenants have."""
    await realm_stage.things(central, tenant, realm)
    await central.platform.made(
        f"/v1/tenants/{tenant.id}/credits", amount_micros=10**9, currency="USD", reason="paid"
    )
    await tenant.admin.put("/v1/quotas", project="main", gpus_max=8)
    await central.platform.put(f"/v1/tenants/{tenant.id}/placement", strategy="spread")
    for kind in ("vrf", "vlan"):
        await central.platform.post("/v1/pools", name=kind, kind=kind, first=1, last=9)
    await central.platform.made(f"/v1/tenants/{tenant.id}/network", vlans=1)
    file = {"tenant": realm, "admin": {"email": "first@acme.example"}}
    await central.platform.made("/v1/onboardings", **file)
    robot = await tenant.admin.made("/v1/service-accounts", name="robot")
    group = await tenant.admin.made("/v1/groups", name="team")
    await tenant.admin.made(f"/v1/groups/{group['id']}/members", member=robot["id"])
    await tenant.admin.made("/v1/role-bindings", subject=group["id"], role="member", project="main")
    made = await tenant.member.post_once(
        "k", "/v1/allocations", project="main", sku="h100.slice", gpus=1
    )
    lease = made.json
    await site.observe(await site.order(lease), wire.OBSERVED_ACTIVE, at_us=0)  # and disputed
    await tenant.member.made(f"/v1/allocations/{lease['id']}/release")
    order = await site.order(lease, revision=2)
    await site.observe(order, wire.OBSERVED_STOPPING)
    await site.clean(order)
    second = await tenant.member.made(
        "/v1/allocations", project="main", sku="h100.slice", gpus=1, apart_from=[lease["id"]]
    )
    await own_a_key(central, tenant, realm)
    await live_elsewhere(central, tenant)
    await central.execute(  # as if it had been given up (test_abandonment has some that are)
        "INSERT INTO abandonments VALUES ($1, $2, 'them', 'why', '{}', now())",
        lease["id"],
        tenant.id,
    )
    return second["slots"][0]


async def own_a_key(central: Central, tenant: Tenant, realm: str) -> None:
    """Of a person, made through a client."""
    theirs = Realm(central, tenant, realm)
    browser = await theirs.join(f"keys@{realm}.example", "member")
    person = theirs.api(await theirs.device(browser))
    await person.made("/v1/keys", name="mine")
    await browser.client.aclose()


async def live_elsewhere(central: Central, tenant: Tenant) -> None:
    """As if its realm were at Keycloak (test_hosted_realms has some that are)."""
    for sql in (
        "INSERT INTO hosted_realms VALUES ($1, 'keycloak', $1, 'k', 'w', 'open', 'open', 1)",
        """
        INSERT INTO hosted_identities
            SELECT $1, 'them', id, now() FROM users WHERE tenant_id = $1 LIMIT 1
        """,
        """
        INSERT INTO hosted_invitations
            SELECT id, $1, now() FROM invitations WHERE tenant_id = $1 LIMIT 1
        """,
    ):
        await central.execute(sql, tenant.id)


@dataclass(frozen=True)
class Wall:
    url: str
    mine: str
    theirs: str
    tables: list[Table]

    def fill(self, sql: str, table: Table) -> str:
        column = (table.updated or table.columns)[0]
        return sql.format(table=table.name, theirs=self.theirs, column=column)


@asynccontextmanager
async def session(url: str) -> AsyncGenerator[asyncpg.Connection, None]:
    connection = await asyncpg.connect(superuser_url(url))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def intruder(wall: Wall) -> AsyncGenerator[asyncpg.Connection, None]:
    """The app role for one tenant, and nothing else. Afterwards the other one's rows are as they
    were; then everything is undone."""
    async with session(wall.url) as connection:
        attempt = connection.transaction()
        await attempt.start()
        before = await digest(connection, wall)
        await connection.execute("SELECT set_config('app.tenant', $1, true)", wall.mine)
        await connection.execute(f"SET LOCAL SESSION AUTHORIZATION {APP}")
        yield connection
        await connection.execute("SET LOCAL SESSION AUTHORIZATION DEFAULT")
        assert await digest(connection, wall) == before
        await attempt.rollback()


async def digest(superuser: asyncpg.Connection, wall: Wall) -> dict[str, str]:
    """The other tenant's rows, table by table."""
    sql = "SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {} t WHERE tenant_id = $1"
    found = {
        table.name: await superuser.fetchval(sql.format(table.name), wall.theirs)
        for table in wall.tables
    }
    assert all(found.values()), "there is a table without a row to protect"
    return found


async def seen(app: asyncpg.Connection, sql: str, *args: object) -> set[str]:
    """The tenants that an answer tells of; what failed is undone."""
    async with app.transaction():
        return {row[0] for row in await app.fetch(sql, *args)} - {None}


def insert(table: Table, row: Json, ending: str = "") -> tuple[str, str]:
    columns = ", ".join(table.inserted or table.columns)
    sql = (
        f"INSERT INTO {table.name} ({columns}) SELECT {columns} "
        f"FROM jsonb_populate_record(NULL::{table.name}, $1) {ending}"
    )
    return sql, orjson.dumps(row).decode()


async def row_of(superuser: asyncpg.Connection, table: str, tenant: str) -> Json:
    return (await rows_of(superuser, table, tenant))[0]


async def rows_of(superuser: asyncpg.Connection, table: str, tenant: str) -> list[Json]:
    sql = f"SELECT to_jsonb(t)::text FROM {table} t WHERE tenant_id = $1"
    return [orjson.loads(row[0]) for row in await superuser.fetch(sql, tenant)]
