-- Nodes are retired and replaced, and come back under a new key.

-- A retiring node gets nothing new; it is retired once it holds no lease, and for ever.
ALTER TABLE nodes
    ADD COLUMN retiring_at timestamptz,
    ADD COLUMN retired_at timestamptz,
    ADD COLUMN retire_reason text NOT NULL DEFAULT '',
    ADD COLUMN replaces text COLLATE "C" UNIQUE REFERENCES nodes,  -- whose place it took
    ADD CONSTRAINT retires_before_it_is_retired CHECK (
        retired_at IS NULL OR (retiring_at IS NOT NULL AND NOT connected)),
    ADD CONSTRAINT retires_for_a_reason CHECK ((retiring_at IS NULL) = (retire_reason = '')),
    DROP CONSTRAINT nodes_site_id_name_key;
CREATE UNIQUE INDEX nodes_name ON nodes (site_id, name) WHERE retired_at IS NULL;

-- A slot goes with its node if it is proven clean. One that is not stays, and keeps its GPU: that
-- GPU is nobody else's slot.
ALTER TABLE slots ADD COLUMN retired_at timestamptz;
GRANT UPDATE (retired_at) ON slots TO {system};
DROP INDEX slots_gpu;
CREATE UNIQUE INDEX slots_gpu ON slots (gpu_uuid) WHERE kind = 'gpu' AND retired_at IS NULL;

-- Permissions for one machine: to take a retired node's place, or to come back as a node.
CREATE TABLE node_tokens (
    id         text COLLATE "C" PRIMARY KEY,
    node_id    text COLLATE "C" NOT NULL REFERENCES nodes,
    purpose    text NOT NULL CHECK (purpose IN ('replace', 'rejoin')),
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);
GRANT SELECT, INSERT ON node_tokens TO {system};

-- A node that lost its key came back with another one. An operator decides whether it is the same
-- machine, by what it is made of and was made of.
CREATE TABLE reenrolments (
    id             text COLLATE "C" PRIMARY KEY,
    node_id        text COLLATE "C" NOT NULL REFERENCES nodes,
    token_id       text COLLATE "C" NOT NULL UNIQUE REFERENCES node_tokens,
    public_key     bytea NOT NULL,
    evidence       jsonb NOT NULL,  -- its topology, as the new key signed it
    parts          jsonb NOT NULL,  -- what of it is the same, is gone, is new
    requested_at   timestamptz NOT NULL,
    decision       text CHECK (decision IN ('approved', 'rejected')),  -- null: it waits
    decided_at     timestamptz,
    decided_by     text NOT NULL DEFAULT '',
    decided_reason text NOT NULL DEFAULT '',
    CHECK ((decision IS NULL) = (decided_at IS NULL))
);
CREATE INDEX reenrolments_of_node ON reenrolments (node_id);
GRANT SELECT, INSERT, UPDATE (decision, decided_at, decided_by, decided_reason) ON reenrolments
    TO {system};

-- What nodes hold now: leases whose cleanup is not proven.
CREATE VIEW node_holdings WITH (security_invoker = true) AS
    SELECT s.node_id, c.slot_id, c.allocation_id, a.abandoned_at IS NOT NULL AS abandoned
    FROM slots s JOIN claims c ON c.slot_id = s.id AND c.freed_at IS NULL
        JOIN allocations a ON a.id = c.allocation_id;
GRANT SELECT ON node_holdings TO {system};

CREATE VIEW invariant_retired_node_held WITH (security_invoker = true) AS
    SELECT n.id AS node, h.allocation_id AS allocation, h.slot_id AS slot
    FROM nodes n JOIN node_holdings h ON h.node_id = n.id
    WHERE n.retired_at IS NOT NULL AND NOT h.abandoned;
GRANT SELECT ON invariant_retired_node_held TO {system};

-- As before; but nothing is placed on a node that is being retired, and a retired one is no part of
-- the fleet, as if it had never been discovered.
CREATE OR REPLACE VIEW fleet_nodes WITH (security_invoker = true) AS
    SELECT n.id, n.site_id, n.family,
        CASE WHEN n.retired_at IS NULL THEN n.fault ELSE '' END AS fault,
        n.draining OR n.retiring_at IS NOT NULL AS draining,
        CASE WHEN n.retiring_at IS NULL THEN n.drain_reason ELSE 'it is being retired' END
            AS drain_reason,
        n.connected, site.away AS site_away,
        n.topology IS NOT NULL AND n.retired_at IS NULL AS discovered,
        coalesce(n.leaf_assigned, n.leaf) AS leaf, n.tags || site.tags AS tags, n.reserved_for,
        n.price_micros_per_gpu_hour, held.*, n.unready, n.away_reason
    FROM nodes n JOIN sites site ON site.id = n.site_id CROSS JOIN LATERAL (
        SELECT array_agg(s.id ORDER BY s.kind DESC, s.index) AS slot_ids,
            array_agg(s.kind ORDER BY s.kind DESC, s.index) AS kinds,
            array_agg(s.index ORDER BY s.kind DESC, s.index) AS indexes,
            array_agg(s.numa_node ORDER BY s.kind DESC, s.index) AS numa_nodes,
            array_agg(s.fabric_guid ORDER BY s.kind DESC, s.index) AS fabrics,
            array_agg(s.approved_at IS NOT NULL ORDER BY s.kind DESC, s.index) AS approved,
            array_agg(NOT EXISTS (SELECT FROM claims c WHERE c.slot_id = s.id AND c.freed_at IS NULL)
                ORDER BY s.kind DESC, s.index) AS free
        FROM slots s WHERE s.node_id = n.id AND n.retired_at IS NULL) AS held;

CREATE OR REPLACE VIEW known_things WITH (security_invoker = true) AS
    SELECT 'tenant' AS noun, id AS reference FROM tenants
    UNION ALL SELECT 'tenant', name FROM tenants
    UNION ALL SELECT 'organization', id FROM organizations
    UNION ALL SELECT 'project', id FROM projects
    UNION ALL SELECT 'key', id FROM api_keys
    UNION ALL SELECT 'site', id FROM sites
    UNION ALL SELECT 'site', name FROM sites
    UNION ALL SELECT 'node', id FROM nodes
    UNION ALL SELECT 'slot', id FROM slots
    UNION ALL SELECT 'allocation', id FROM allocations
    UNION ALL SELECT 'user', id FROM users
    UNION ALL SELECT 'session', id FROM sessions
    UNION ALL SELECT 'client', id FROM realm_clients
    UNION ALL SELECT 'provider', id FROM identity_providers
    UNION ALL SELECT 'template', id FROM templates
    UNION ALL SELECT 'template', name FROM templates
    UNION ALL SELECT 'onboarding', id FROM onboardings
    UNION ALL SELECT 'pool', id FROM pools
    UNION ALL SELECT 'pool', name FROM pools
    UNION ALL SELECT 'service_account', id FROM service_accounts
    UNION ALL SELECT 'group', id FROM groups
    UNION ALL SELECT 'role', id FROM role_bindings
    UNION ALL SELECT 'dispute', id FROM disputes
    UNION ALL SELECT 'reenrolment', id FROM reenrolments;
