-- Leases: what was asked for, which slots it holds, what it used.
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE allocations (
    id                        text COLLATE "C" PRIMARY KEY,
    tenant_id                 text COLLATE "C" NOT NULL,
    project_id                text COLLATE "C" NOT NULL,
    sku_id                    text COLLATE "C" NOT NULL,
    shape                     text NOT NULL,
    family                    text NOT NULL,
    gpus                      integer NOT NULL CHECK (gpus > 0),
    price_micros_per_gpu_hour bigint NOT NULL,
    currency                  text NOT NULL,
    site_id                   text COLLATE "C",  -- null until it is placed
    node_id                   text COLLATE "C",
    -- Desired: what should be. The revision counts its changes.
    desired                   text NOT NULL CHECK (desired IN ('active', 'released')),
    desired_at                timestamptz NOT NULL,
    revision                  bigint NOT NULL CHECK (revision > 0),
    -- Observed: what the node said last, through its site.
    observed                  text NOT NULL DEFAULT 'nothing' CHECK (
        observed IN ('nothing', 'active', 'stopping', 'released', 'failed')),
    observed_at               timestamptz,
    observed_reason           text NOT NULL DEFAULT '',
    -- Execution: what the site's workflow is doing.
    execution_workflow        text NOT NULL DEFAULT '',
    execution_step            text NOT NULL DEFAULT '',
    execution_status          text NOT NULL DEFAULT '',
    execution_detail          text NOT NULL DEFAULT '',
    execution_at              timestamptz,
    created_at                timestamptz NOT NULL,
    created_by                text NOT NULL,
    correlation_id            text NOT NULL,
    failed_reason             text NOT NULL DEFAULT '',  -- not empty: its realization failed
    freed_at                  timestamptz,               -- every slot's cleanup is proven
    -- Waiting: it holds nothing until it is placed. Desired released before that: cancelled.
    priority                  smallint NOT NULL DEFAULT 50 CHECK (priority BETWEEN 0 AND 100),
    asked_site_id             text COLLATE "C",  -- placed there or nowhere
    terms                     jsonb NOT NULL DEFAULT '{}',  -- on top of the tenant's policy
    queued_at                 timestamptz,  -- null: it was placed at once
    expires_at                timestamptz,  -- it waits no longer than that
    expired_at                timestamptz,  -- it was not placed in time
    placed_at                 timestamptz,
    ends_at                   timestamptz,  -- planned by its tenant; nothing ends it then
    kept_nodes                text[] NOT NULL DEFAULT '{}',  -- kept for it: it is a head
    estimate                  jsonb,        -- of when it will be placed, by the last round
    CONSTRAINT placed_is_somewhere CHECK (
        (placed_at IS NULL) = (node_id IS NULL) AND (site_id IS NULL) = (node_id IS NULL)),
    CONSTRAINT placed_or_waits CHECK (
        placed_at IS NOT NULL OR (queued_at IS NOT NULL AND expires_at IS NOT NULL)),
    CONSTRAINT expired_unplaced CHECK (
        expired_at IS NULL OR (placed_at IS NULL AND desired = 'released'))
);
CREATE INDEX allocations_tenant ON allocations (tenant_id, id);
CREATE INDEX allocations_queued ON allocations (priority, queued_at)
    WHERE placed_at IS NULL AND desired = 'active';
CREATE INDEX allocations_ending ON allocations (ends_at)
    WHERE placed_at IS NOT NULL AND freed_at IS NULL AND ends_at IS NOT NULL;
SELECT wall_off('allocations');
GRANT SELECT ON allocations TO {app};
GRANT UPDATE (desired, desired_at, revision) ON allocations TO {app};
GRANT SELECT, INSERT, UPDATE ON allocations TO {system};

-- Where a lease or a node is, it stays; whose it is, and what was asked for, too.
CREATE FUNCTION stays() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    RAISE integrity_constraint_violation USING MESSAGE = format('%s cannot move', OLD.id);
END $$;
CREATE TRIGGER stays BEFORE UPDATE OF id, tenant_id, project_id, sku_id, asked_site_id ON allocations
    FOR EACH ROW EXECUTE FUNCTION stays();
CREATE TRIGGER stays_there BEFORE UPDATE OF node_id, site_id ON allocations
    FOR EACH ROW WHEN (OLD.node_id IS NOT NULL AND
        (OLD.node_id, OLD.site_id) IS DISTINCT FROM (NEW.node_id, NEW.site_id))
    EXECUTE FUNCTION stays();
CREATE TRIGGER stays BEFORE UPDATE OF id, site_id ON nodes FOR EACH ROW EXECUTE FUNCTION stays();
CREATE TRIGGER stays BEFORE UPDATE OF id ON sites FOR EACH ROW EXECUTE FUNCTION stays();

-- An allocation's project is its tenant's; its SKU exists, and the site that it asked for.
-- Foreign keys would say the same row by row, at a fifth of a placement's price; this asks once
-- for all that a statement inserts. Nothing can break it later: no role may delete what is
-- referred to, or change whose it is.
CREATE FUNCTION allocations_refer() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT a.id INTO stray FROM added a
    WHERE (SELECT p.tenant_id FROM projects p WHERE p.id = a.project_id)
            IS DISTINCT FROM a.tenant_id
        OR (SELECT k.id FROM skus k WHERE k.id = a.sku_id) IS NULL
        OR (SELECT s.id FROM sites s WHERE s.id = a.asked_site_id)
            IS DISTINCT FROM a.asked_site_id
    LIMIT 1;
    IF FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s: its project, SKU or site is not there', stray.id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER allocations_refer AFTER INSERT ON allocations REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION allocations_refer();

-- A cleanup proof: signed by the node, for this slot, this fence, this nonce.
CREATE TABLE cleanup_proofs (
    id            text COLLATE "C" PRIMARY KEY,
    slot_id       text COLLATE "C" NOT NULL REFERENCES slots,
    fence         bigint NOT NULL,
    allocation_id text COLLATE "C" NOT NULL,
    tenant_id     text COLLATE "C" NOT NULL,
    payload       bytea NOT NULL,
    signature     bytea NOT NULL,
    proven_at     timestamptz NOT NULL,
    UNIQUE (slot_id, fence)
);
SELECT wall_off('cleanup_proofs');
GRANT SELECT ON cleanup_proofs TO {app};
GRANT SELECT, INSERT ON cleanup_proofs TO {system};

-- A claim holds one slot for one allocation. The fence grows by one with each claim of
-- the slot. The database forbids: two live claims on a slot; an allocation on two nodes;
-- a slot freed without a proof for exactly this claim.
CREATE TABLE claims (
    slot_id        text COLLATE "C" NOT NULL,
    fence          bigint NOT NULL CHECK (fence > 0),
    allocation_id  text COLLATE "C" NOT NULL,
    tenant_id      text COLLATE "C" NOT NULL,
    node_id        text COLLATE "C" NOT NULL,
    claimed_at     timestamptz NOT NULL,
    cleanup_nonce  bytea,                     -- set when release is asked for
    blocked_reason text NOT NULL DEFAULT '',  -- why the last proof was not enough
    freed_at       timestamptz,
    PRIMARY KEY (slot_id, fence)
);
CREATE UNIQUE INDEX claims_live ON claims (slot_id) WHERE freed_at IS NULL;
CREATE INDEX claims_allocation ON claims (allocation_id);
SELECT wall_off('claims');
GRANT SELECT ON claims TO {app};
GRANT UPDATE (cleanup_nonce, blocked_reason) ON claims TO {app};
GRANT SELECT, INSERT, UPDATE (cleanup_nonce, blocked_reason, freed_at) ON claims TO {system};

-- No claim is freed without its proof. A foreign key would ask for each new claim, which has
-- none to be asked for, at a twentieth of the price of a placement. Proofs stay: no role may
-- delete or change one.
CREATE FUNCTION claim_proven() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM cleanup_proofs p
            WHERE p.slot_id = NEW.slot_id AND p.fence = NEW.fence) THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s: its claim %s has no cleanup proof, so it cannot be freed', NEW.slot_id, NEW.fence);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER claim_proven AFTER INSERT OR UPDATE ON claims
    FOR EACH ROW WHEN (NEW.freed_at IS NOT NULL) EXECUTE FUNCTION claim_proven();

-- A claim's slot and its allocation are both on the claim's node, which is at the allocation's
-- site. Foreign keys would say the same, row by row, at half the price of a claim; this asks
-- once for all that a statement inserts. Nothing can break it later: no role may delete a slot
-- or an allocation, or change where one is, or what a claim refers to.
CREATE FUNCTION claims_refer() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT c.slot_id AS it INTO stray FROM added c
    WHERE (SELECT s.id FROM slots s WHERE s.id = c.slot_id AND s.node_id = c.node_id) IS NULL
    LIMIT 1;
    IF NOT FOUND THEN
        SELECT c.allocation_id AS it INTO stray
        FROM (SELECT DISTINCT allocation_id, tenant_id, node_id FROM added) AS c
        WHERE (SELECT (a.node_id, a.tenant_id, a.site_id) FROM allocations a
                WHERE a.id = c.allocation_id)
            IS DISTINCT FROM (SELECT (c.node_id, c.tenant_id, n.site_id) FROM nodes n
                WHERE n.id = c.node_id)
        LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s: its claim, slot and allocation are not on one node', stray.it);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER claims_refer AFTER INSERT ON claims REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION claims_refer();

-- A tenant sees the slots that it holds, and no other.
ALTER TABLE slots ENABLE ROW LEVEL SECURITY;
ALTER TABLE slots FORCE ROW LEVEL SECURITY;
CREATE POLICY system ON slots TO {system} USING (true) WITH CHECK (true);
CREATE POLICY tenant ON slots FOR SELECT TO {app} USING (
    EXISTS (SELECT FROM claims WHERE claims.slot_id = slots.id AND claims.freed_at IS NULL));

-- A node as the solver sees it; its slots in order, the chassis last.
CREATE VIEW fleet_nodes WITH (security_invoker = true) AS
    SELECT n.id, n.site_id, n.family, n.fault, n.draining, n.drain_reason, n.connected,
        site.away AS site_away, n.topology IS NOT NULL AS discovered,
        coalesce(n.leaf_assigned, n.leaf) AS leaf, n.tags || site.tags AS tags, n.reserved_for,
        n.price_micros_per_gpu_hour, held.*
    FROM nodes n JOIN sites site ON site.id = n.site_id CROSS JOIN LATERAL (
        SELECT array_agg(s.id ORDER BY s.kind DESC, s.index) AS slot_ids,
            array_agg(s.kind ORDER BY s.kind DESC, s.index) AS kinds,
            array_agg(s.index ORDER BY s.kind DESC, s.index) AS indexes,
            array_agg(s.numa_node ORDER BY s.kind DESC, s.index) AS numa_nodes,
            array_agg(s.fabric_guid ORDER BY s.kind DESC, s.index) AS fabrics,
            array_agg(s.approved_at IS NOT NULL ORDER BY s.kind DESC, s.index) AS approved,
            array_agg(coalesce(last.fence, 0) ORDER BY s.kind DESC, s.index) AS fences,
            array_agg(last.fence IS NULL OR last.freed_at IS NOT NULL
                ORDER BY s.kind DESC, s.index) AS free
        FROM slots s LEFT JOIN LATERAL (
            SELECT c.fence, c.freed_at FROM claims c
            WHERE c.slot_id = s.id ORDER BY c.fence DESC LIMIT 1) AS last ON true
        WHERE s.node_id = n.id) AS held;
GRANT SELECT ON fleet_nodes TO {system};

-- What happened to the fleet, in order: a replica that knows it up to a revision brings itself
-- up to date from here, and any placement can be replayed on the fleet as it was. Written and
-- numbered under the fleet's lock, without gaps.
CREATE TABLE fleet_changes (
    revision      bigint PRIMARY KEY CHECK (revision > 0),
    kind          text NOT NULL CHECK (kind IN ('node', 'claim', 'free')),
    node_id       text COLLATE "C" NOT NULL,
    node          jsonb,             -- of 'node': as it is from now on
    slot_ids      text[],            -- of 'claim' and 'free'
    allocation_id text COLLATE "C",  -- of 'claim' and 'free'
    tenant_id     text COLLATE "C",
    receipt       text,              -- of 'claim': why it went where it did, as JSON
    at            timestamptz NOT NULL,
    CHECK ((kind = 'node') = (node IS NOT NULL)),
    CHECK ((kind = 'claim') = (receipt IS NOT NULL)),
    CHECK ((kind = 'node') = (slot_ids IS NULL) AND (kind = 'node') = (allocation_id IS NULL))
);
CREATE INDEX fleet_changes_nodes ON fleet_changes (node_id, revision) WHERE kind = 'node';
CREATE INDEX fleet_changes_allocation ON fleet_changes (allocation_id) WHERE kind = 'claim';
SELECT wall_off('fleet_changes');
GRANT SELECT (revision, kind, allocation_id, tenant_id, receipt) ON fleet_changes TO {app};
GRANT SELECT, INSERT ON fleet_changes TO {system};

-- Time that a tenant had its GPUs, from what the node was observed to do. Half-open, and
-- no two of an allocation overlap: no second is lost, none is billed twice.
CREATE TABLE usage_segments (
    allocation_id             text COLLATE "C" NOT NULL REFERENCES allocations,
    tenant_id                 text COLLATE "C" NOT NULL,
    project_id                text COLLATE "C" NOT NULL,
    sku_id                    text COLLATE "C" NOT NULL,
    gpus                      integer NOT NULL CHECK (gpus > 0),
    price_micros_per_gpu_hour bigint NOT NULL,
    currency                  text NOT NULL,
    debited_micros            bigint,  -- null: not paid from a balance
    during                    tstzrange NOT NULL CHECK (
        lower_inc(during) AND NOT upper_inc(during) AND NOT lower_inf(during)),
    EXCLUDE USING gist (allocation_id WITH =, during WITH &&)
);
SELECT wall_off('usage_segments');
GRANT SELECT ON usage_segments TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_segments TO {system};
