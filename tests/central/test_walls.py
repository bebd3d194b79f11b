"""Row-level security holds alone: raw SQL as the app role, with no other code in between."""

import asyncpg
import pytest
from logins import superuser_url

from .plane import Central, Tenant
from .stand_in_site import StandInSite
from .wall_stage import APP, app_role, tenant_tables, use

pytestmark = pytest.mark.anyio

PLATFORM_ONLY = (
    "feed_entries", "feed_heads", "feed_cursors", "feed_rejections", "audit_head", "sites",
    "site_tokens", "nodes", "schema_migrations", "pools", "templates",
)  # fmt: skip


async def test_each_tenant_sees_its_own_rows_and_nobody_sees_none(
    central: Central, site: StandInSite, tenant: Tenant, central_url: str
) -> None:
    other = await central.tenant("other")
    slots = {
        tenant.id: await use(central, site, tenant),
        other.id: await use(central, site, other, "other"),
    }
    tables = await tenant_tables(central_url)
    assert len(tables) >= 10
    for id in (tenant.id, other.id):
        async with app_role(central_url, id) as app:
            for table in tables:
                seen = {row[0] for row in await app.fetch(f"SELECT tenant_id FROM {table}")}
                assert seen == {id}, table
            visible = [row["id"] for row in await app.fetch("SELECT id FROM slots")]
            assert visible == [slots[id]], "the slots it holds now, and no other"
    async with app_role(central_url) as app:
        for table in (*tables, "slots"):
            assert await app.fetchval(f"SELECT count(*) FROM {table}") == 0, table
    async with app_role(central_url, "' OR true --") as app:
        for table in (*tables, "slots"):
            assert await app.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def attempt(connection: asyncpg.Connection, sql: str, name: str) -> None:
    async with connection.transaction():
        await connection.execute(sql)
        pytest.fail(f"the app role could {name}")


FORBIDDEN: dict[str, str] = {
    **{f"read {table}": f"SELECT * FROM {table}" for table in PLATFORM_ONLY},
    "free a slot": "UPDATE claims SET freed_at = now()",
    "raise a fence": "UPDATE claims SET fence = fence + 1",
    "pretend to be active": "UPDATE allocations SET observed = 'active'",
    "lower a price": "UPDATE allocations SET price_micros_per_gpu_hour = 0",
    "change a policy": "UPDATE placement_policies SET sites = NULL",
    "drop a policy": "DELETE FROM placement_policies",
    "move a limit": "UPDATE quotas SET scope_id = 'project_x'",
    "hold less than it does": "UPDATE gpus_held SET gpus = 0",
    "forget what it holds": "DELETE FROM gpus_held",
    "have spent less": "UPDATE spent SET micros = 0",
    "top its balance up": "UPDATE balances SET credited_micros = 1",
    "write a credit": "INSERT INTO credits VALUES ('c', current_tenant(), 1, 'USD', '', '', now())",
    "take a debit back": "UPDATE debits SET debited_micros = 0",
    "make its usage unpaid": "UPDATE usage_segments SET debited_micros = NULL",
    "return a network": "UPDATE assignments SET returned_at = now()",
    "take a VLAN": "INSERT INTO assignments (id, tenant_id, pool_id, kind, number, assigned_at) "
    "SELECT 'x', current_tenant(), pool_id, kind, 9, now() FROM assignments WHERE kind = 'vlan'",
    "drop a network": "DELETE FROM assignments",
    "become active": "UPDATE tenants SET status = 'active'",
    "leave without a trace": "DELETE FROM tenants",
    "finish its onboarding": "UPDATE onboardings SET status = 'done'",
    "drop a project": "DELETE FROM projects",
    "drop an organization": "DELETE FROM organizations",
    "drop its realm": "DELETE FROM realms",
    "move a project": "UPDATE projects SET organization_id = 'org_x'",
    "count as it likes": "CREATE TEMP TABLE mine (LIKE allocations); CREATE TRIGGER t AFTER INSERT "
    "ON mine REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT "
    "EXECUTE FUNCTION count_gpus_held()",
    "jump the queue": "UPDATE allocations SET priority = 100",
    "place its own lease": "UPDATE allocations SET placed_at = now()",
    "make a tenant": "INSERT INTO tenants (id, name, created_at) VALUES ('t', 't', now())",
    "take a lease over": "UPDATE allocations SET tenant_id = current_tenant()",
    "delete usage": "DELETE FROM usage_segments",
    "shorten usage": "UPDATE usage_segments SET during = 'empty'",
    "forge a proof": "INSERT INTO cleanup_proofs VALUES ('p', 's', 1, 'a', 't', '', '', now())",
    "write an event": "INSERT INTO events VALUES (99, 'e', NULL, 't', 's', '{}', '', now())",
    "change the audit log": "UPDATE audit_entries SET actor = 'x'",
    "delete from the audit log": "DELETE FROM audit_entries",
    "write a SKU": "UPDATE skus SET price_micros_per_gpu_hour = 0",
    "approve a slot": "UPDATE slots SET approved_at = now()",
    "raise a role": "UPDATE api_keys SET role = 'admin'",
    "raise a bound role": "UPDATE role_bindings SET role = 'admin'",
    "move a binding": "UPDATE role_bindings SET scope_id = 'project_x'",
    "lift a condition": "UPDATE role_bindings SET conditions = '{}'",
    "give a group away": "UPDATE groups SET tenant_id = 'other'",
    "rename an account": "UPDATE service_accounts SET name = 'x'",
    "hand a key over": "UPDATE api_keys SET service_account_id = NULL",
    "extend a key": "UPDATE api_keys SET expires_at = NULL",
    "read a signing key": "SELECT sealed FROM realm_keys",
    "change a signing key": "UPDATE realm_keys SET public = '{}'",
    "move an issuer": "UPDATE realms SET name = 'other'",
    "rewrite a client": "UPDATE realm_clients SET redirect_uris = '{https://evil.example}'",
    "move a user": "UPDATE users SET tenant_id = 'other'",
    "widen a session": "UPDATE sessions SET scope = 'administer'",
    "lengthen a session": "UPDATE sessions SET expires_at = now() + interval '1 year'",
    "forget a reuse": "DELETE FROM refresh_tokens",
    "forget a revocation": "DELETE FROM revoked_tokens",
    "take the wall down": "ALTER TABLE allocations DISABLE ROW LEVEL SECURITY",
    "change the wall": "CREATE POLICY all_of_it ON allocations USING (true)",
    "make a table": "CREATE TABLE mine (n int)",
    "wall off": "SELECT wall_off('skus')",
    "become the system": "SET ROLE penstock_central_system; SELECT * FROM feed_heads",
}


async def test_the_app_role_cannot_do_what_it_has_no_grant_for(
    central: Central, site: StandInSite, tenant: Tenant, central_url: str
) -> None:
    await use(central, site, tenant)
    # A role that the app's own connections can use, without membership in any other.
    superuser = await asyncpg.connect(superuser_url(central_url))
    try:
        for name, sql in FORBIDDEN.items():
            async with superuser.transaction():
                await superuser.execute(f"SET LOCAL SESSION AUTHORIZATION {APP}")
                await superuser.execute("SELECT set_config('app.tenant', $1, true)", tenant.id)
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await attempt(superuser, sql, name)
    finally:
        await superuser.close()


INSERTS: dict[str, str] = {
    "organizations": "INSERT INTO organizations VALUES ('org_x', $1, 'x', now())",
    "projects": "INSERT INTO projects SELECT 'project_x', $1, "
    "(SELECT id FROM organizations WHERE tenant_id = current_tenant()), 'x', now()",
    "quotas": "INSERT INTO quotas SELECT $1, 'organization', id, 'h100', 1 "
    "FROM organizations WHERE tenant_id = current_tenant()",
    "api_keys": "INSERT INTO api_keys VALUES ('key_x', $1, 'x', 'admin', 'h', now())",
    "service_accounts": "INSERT INTO service_accounts (id, tenant_id, name, created_at) "
    "VALUES ('sa_x', $1, 'x', now())",
    "groups": "INSERT INTO groups (id, tenant_id, name, created_at) "
    "VALUES ('group_x', $1, 'x', now())",
    "idempotency_keys": "INSERT INTO idempotency_keys VALUES ($1, 'a', 'k', '', 1, '', now())",
}


@pytest.mark.parametrize("table", INSERTS)
async def test_a_row_for_another_tenant_cannot_be_written(
    central: Central, tenant: Tenant, central_url: str, table: str
) -> None:
    other = await central.tenant("other")
    async with app_role(central_url, tenant.id) as app:
        for target in (other.id, None):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
                async with app.transaction():
                    await app.execute(INSERTS[table], target)
        await app.execute(INSERTS[table], tenant.id)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with app.transaction():
                await app.execute(f"UPDATE {table} SET tenant_id = $1", other.id)


async def test_updates_reach_only_the_tenants_own_rows(
    central: Central, site: StandInSite, tenant: Tenant, central_url: str
) -> None:
    other = await central.tenant("other")
    await use(central, site, tenant)
    await use(central, site, other, "other")
    async with app_role(central_url, tenant.id) as app:
        for sql in (
            "UPDATE allocations SET revision = 99",
            "UPDATE claims SET blocked_reason = 'x'",
        ):
            assert await app.execute(sql) == "UPDATE 2"
    # Each column that can be changed belongs to the tenant's own intent.
    row = "SELECT count(*) FROM allocations WHERE revision = 99 AND tenant_id = $1"
    assert await central.value(row, other.id) == 0


async def test_a_tenant_sets_limits_of_its_parts_and_not_its_own(
    central: Central, tenant: Tenant, central_url: str
) -> None:
    other = await central.tenant("other", gpus_max=7)
    await central.platform.put("/v1/quotas", tenant=tenant.id, gpus_max=5)
    granted = "INSERT INTO quotas VALUES ($1, 'tenant', $1, 'h100', 9)"
    taken = "INSERT INTO quotas VALUES ($1, 'project', $2, '', 9)"
    async with app_role(central_url, tenant.id) as app:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
            async with app.transaction():
                await app.execute(granted, tenant.id)
        for sql in ("UPDATE quotas SET most = 99", "DELETE FROM quotas"):
            assert (await app.execute(sql)).endswith(" 0"), sql
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            async with app.transaction():
                await app.execute(taken, tenant.id, other.project)
        await app.execute(taken, tenant.id, tenant.project)
        assert await app.execute("UPDATE quotas SET most = 4") == "UPDATE 1"
        assert await app.execute("DELETE FROM quotas") == "DELETE 1"
    limits = await central.rows("SELECT scope_id, most FROM quotas ORDER BY most")
    assert limits == [
        {"scope_id": tenant.id, "most": 5},
        {"scope_id": other.id, "most": 7},
    ]
