"""Each invariant is broken once, behind the back of every wall, and is seen to be."""

import asyncpg
import pytest
from logins import superuser_url

from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Placed
from penstock.kernel import db, invariants

from . import fleet_stage

pytestmark = pytest.mark.anyio

OTHER_NODE = "(SELECT min(id) FROM nodes WHERE id <> (SELECT node_id FROM allocations))"
CLAIM = "INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)"
QUOTA = "INSERT INTO quotas (tenant_id, scope, scope_id, family, most)"
KIND = "INSERT INTO quotas (tenant_id, scope, scope_id, kind, currency, family, most)"
USED = (
    "INSERT INTO usage_segments SELECT id, tenant_id, project_id, sku_id, gpus, 1000000, currency, "
    "NULL,"
)
ASSIGNED = (
    "INSERT INTO pools (id, name, kind, numbers, created_at, created_by) "
    "VALUES ('p', 'p', 'vlan', '[5,9]', now(), ''); "
    "INSERT INTO assignments (id, tenant_id, pool_id, kind, number, assigned_at) "
    "SELECT 'a', id, 'p', 'vlan',"
)
BROKEN: dict[str, str] = {
    "slot_claimed_twice": "DROP INDEX claims_live; "
    f"{CLAIM} SELECT slot_id, fence + 1, allocation_id, tenant_id, node_id, now() FROM claims",
    "allocation_on_two_nodes": f"UPDATE claims SET node_id = {OTHER_NODE} "
    "WHERE slot_id = (SELECT min(slot_id) FROM claims)",
    "freed_without_proof": "UPDATE claims SET freed_at = now()",
    "slice_beside_baremetal": f"{CLAIM} SELECT s.id, 1, 'alloc_x', a.tenant_id, s.node_id, now() "
    "FROM slots s JOIN allocations a USING (node_id) WHERE s.kind = 'chassis'",
    "claims_of_wrong_size": "UPDATE allocations SET gpus = 3",
    "claims_other_than_its_slots": "UPDATE allocations SET slot_ids = slot_ids[2:]",
    "freed_out_of_step": "UPDATE allocations SET freed_at = now()",
    "usage_out_of_step": "UPDATE allocations SET observed = 'active'",
    "gpus_held_out_of_step": "UPDATE gpus_held SET gpus = 1",
    "gang_torn": "UPDATE allocations SET gang_id = id, nodes = 2, shape = 'baremetal'",
    "abandoned_out_of_step": "UPDATE allocations SET desired = 'released', abandoned_at = now()",
    "retired_node_held": "UPDATE nodes SET retiring_at = now(), retired_at = now(),"
    " retire_reason = 'x', connected = false",
    "lease_outlives_its_end": "UPDATE allocations SET ends_at = now() - interval '6 minutes'",
    "quota_exceeded": f"{QUOTA} SELECT id, 'tenant', id, 'h100', 1 FROM tenants",
    "quota_above_parent": f"{QUOTA} SELECT id, 'tenant', id, '', 4 FROM tenants; "
    f"{QUOTA} SELECT tenant_id, 'project', id, '', 5 FROM projects",
    "spent_out_of_step": "INSERT INTO spent SELECT tenant_id, organization_id, p.id, s.id, 'USD', "
    "'2026-01-01', 1 FROM projects p, sites s",
    "balance_out_of_step": "INSERT INTO balances SELECT id, 'USD', 1 FROM tenants",
    "debit_is_not_the_cost": "INSERT INTO usage_segments SELECT id, tenant_id, project_id, sku_id, "
    "gpus, 1000000, currency, 1999999, '[2026-01-01 00:00,2026-01-01 01:00)', now() "
    "FROM allocations",
    "usage_outside_its_lease": f"{USED} '[2026-01-01,2026-01-02)', now() FROM allocations",
    "dispute_open": "INSERT INTO disputes SELECT 'd', id, tenant_id, project_id, site_id, 'begin', "
    "NULL, now(), now(), now(), 'why', now() FROM allocations",
    "unplaced_holds_something": "ALTER TABLE allocations DROP CONSTRAINT placed_or_waits; "
    "UPDATE allocations SET placed_at = NULL, node_id = NULL, site_id = NULL, slot_ids = NULL",
    "offboarded_tenant_holds_leases": "UPDATE tenants SET status = 'offboarded'",
    "onboarding_abandoned": "UPDATE tenants SET status = 'onboarding'",
    "assignment_outside_its_pool": f"{ASSIGNED} 4, now() FROM tenants",
    "offboarded_tenant_holds_networks": f"{ASSIGNED} 5, now() FROM tenants; "
    "UPDATE tenants SET status = 'offboarded'",
    "session_of_a_disabled_user": "INSERT INTO users (id, tenant_id, email, name, role, created_at,"
    " disabled_at) VALUES ('user_x', 't', 'a@b.cd', 'x', 'member', now(), now()); "
    "INSERT INTO sessions (id, tenant_id, user_id, kind, hash, scope, amr, agent, auth_at,"
    " created_at, seen_at, expires_at)"
    " VALUES ('s', 't', 'user_x', 'browser', 'h', '', '{}', '', now(), now(), now(), now())",
    "key_of_a_disabled_user": "INSERT INTO users (id, tenant_id, email, name, role, created_at,"
    " disabled_at) VALUES ('user_x', 't', 'a@b.cd', 'x', 'member', now(), now()); "
    "INSERT INTO api_keys (id, tenant_id, name, role, hash, created_at, user_id)"
    " VALUES ('key_x', 't', 'x', 'member', 'h', now(), 'user_x')",
    "audit_export": "UPDATE audit_entries SET at = now() - interval '11 minutes'; "
    "UPDATE audit_exports SET begun_at = now() - interval '11 minutes'",
    "events_missed": "INSERT INTO event_consumers VALUES ('x', 0, now(), now()); "
    "DELETE FROM events WHERE seq = 1",
    "retention_overdue": "INSERT INTO retentions VALUES ('events', '1 day', 0, now(), 'why'); "
    "UPDATE events SET at = now() - interval '3 days' WHERE seq = 1",
    "refresh_tokens_forked": "INSERT INTO refresh_tokens (hash, tenant_id, session_id, created_at,"
    " expires_at) VALUES ('a', 't', 's', now(), now()), ('b', 't', 's', now(), now())",
}
# Other ways to break some of them, each with the invariant that must see it.
BROKEN_TOO: dict[str, str] = {
    "UPDATE audit_exports SET fault = 'cut off'": "audit_export",
    **{
        f"INSERT INTO retentions VALUES ('{name}', '1 day', 0, now(), ''); {sql}": (
            "retention_overdue"
        )
        for name, sql in {
            "audit": "UPDATE audit_entries SET at = now() - interval '3 days' WHERE seq = 1",
            "fleet": "UPDATE fleet_changes SET at = now() - interval '3 days' WHERE revision = 1",
            "leases": "UPDATE allocations SET freed_at = now() - interval '3 days'",
            "rejections": "INSERT INTO feed_rejections "
            "VALUES ('s', 1, 'why', '', now() - interval '3 days')",
        }.items()
    },
    "DELETE FROM gpus_held": "gpus_held_out_of_step",
    "INSERT INTO abandonments SELECT id, tenant_id, 'x', 'y', '{}', now() FROM allocations": (
        "abandoned_out_of_step"
    ),
    "UPDATE gpus_held SET nodes = 1": "gpus_held_out_of_step",
    f"{USED} '[2026-01-31 23:00,2026-02-01 01:00)', now() FROM allocations": "spent_out_of_step",
    f"{USED} tstzrange(placed_at, now() + '1 h'), now() + '1 h' FROM allocations": (
        "usage_outside_its_lease"
    ),
    f"UPDATE allocations SET freed_at = now(); {USED} tstzrange(placed_at, NULL), NULL "
    "FROM allocations": "usage_outside_its_lease",
    f"{KIND} SELECT id, 'tenant', id, 'vlans', '', '', 0 FROM tenants; "
    f"{ASSIGNED} 5, now() FROM tenants": "quota_exceeded",
    f"UPDATE allocations SET shape = 'baremetal'; UPDATE gpus_held SET nodes = 1; "
    f"{KIND} SELECT tenant_id, 'project', id, 'nodes', '', '', 0 FROM projects": "quota_exceeded",
    f"{KIND} SELECT id, 'tenant', id, 'spend', 'USD', '', 4 FROM tenants; "
    f"{KIND} SELECT tenant_id, 'project', id, 'spend', 'USD', '', 5 FROM projects": (
        "quota_above_parent"
    ),
    **{
        f"{KIND} SELECT tenant_id, 'organization', id, '{kind}', '', '', 4 FROM organizations; "
        f"{KIND} SELECT tenant_id, 'project', id, '{kind}', '', '', 5 FROM projects": (
            "quota_above_parent"
        )
        for kind in ("clusters", "volumes")
    },
    "UPDATE gpus_held SET family = 'a100'": "gpus_held_out_of_step",
    f"{QUOTA} SELECT tenant_id, 'project', id, '', 1 FROM projects": "quota_exceeded",
    f"{QUOTA} SELECT tenant_id, 'organization', id, '', 1 FROM organizations": "quota_exceeded",
    f"{QUOTA} SELECT tenant_id, 'organization', id, '', 4 FROM organizations; "
    f"{QUOTA} SELECT tenant_id, 'project', id, '', 5 FROM projects": "quota_above_parent",
    f"{QUOTA} SELECT id, 'tenant', id, '', 4 FROM tenants; "
    f"{QUOTA} SELECT tenant_id, 'project', id, 'h100', 5 FROM projects": "quota_above_parent",
    f"{QUOTA} SELECT tenant_id, 'project', id, '', 4 FROM projects; "
    f"{QUOTA} SELECT tenant_id, 'project', id, 'h100', 5 FROM projects": "quota_above_parent",
    "INSERT INTO balances SELECT id, 'USD', 1 FROM tenants; "
    "INSERT INTO credits SELECT 'c', id, 1, 'USD', '', '', now() FROM tenants; "
    "INSERT INTO debits SELECT tenant_id, site_id, 1 FROM allocations": "balance_out_of_step",
    f"{ASSIGNED} 5, now() FROM tenants; UPDATE assignments SET site_id = (SELECT id FROM sites)": (
        "assignment_outside_its_pool"
    ),
    "UPDATE tenants SET status = 'onboarding' WHERE true": "offboarded_tenant_holds_leases",
}


async def broken_by(central_url: str, sql: str) -> dict[str, int]:
    """Violations after a lease of 2 GPUs was made and then this was done to the tables."""
    database = await db.connect(central_url, "central")
    stage = await fleet_stage.build(database, nodes=2)
    (outcome,) = await Committer(database).commit([stage.ask(2)])
    assert isinstance(outcome, Placed)
    superuser = await asyncpg.connect(superuser_url(central_url))
    await superuser.execute(f"SET session_replication_role = replica; {sql}")
    await superuser.close()
    async with database.transaction() as tx:
        counted = {found.name: found.violations for found in await invariants.check(tx)}
    await database.close()
    return counted


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_invariant_is_counted(central_url: str, name: str) -> None:
    assert (await broken_by(central_url, BROKEN[name]))[name] > 0


@pytest.mark.parametrize("also", BROKEN_TOO)
async def test_it_is_counted_in_its_other_ways_too(central_url: str, also: str) -> None:
    assert (await broken_by(central_url, also))[BROKEN_TOO[also]] > 0


async def test_limits_that_hold_are_no_violation(central_url: str) -> None:
    lines = (
        f"{QUOTA} SELECT id, 'tenant', id, 'h100', 2 FROM tenants; "
        f"{QUOTA} SELECT tenant_id, 'organization', id, 'h100', 2 FROM organizations; "
        f"{QUOTA} SELECT tenant_id, 'project', id, '', 9 FROM projects; "
        f"{KIND} SELECT tenant_id, 'project', id, 'nodes', '', '', 9 FROM projects; "
        f"{KIND} SELECT id, 'tenant', id, 'spend', 'USD', '', 4 FROM tenants; "
        f"{KIND} SELECT tenant_id, 'project', id, 'spend', 'EUR', '', 5 FROM projects"
    )
    assert set((await broken_by(central_url, lines)).values()) == {0}


async def test_every_invariant_has_a_way_to_be_broken_here(central_url: str) -> None:
    database = await db.connect(central_url, "central")
    async with database.transaction() as tx:
        names = {found.name for found in await invariants.check(tx)}
    await database.close()
    own = {"audit_chain", "feed_rejections", "not_apart"}
    assert names - BROKEN.keys() == own, "these have their own tests"
