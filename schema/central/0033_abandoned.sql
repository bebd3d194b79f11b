-- A node whose link comes and goes: why its site does not count it as connected.
ALTER TABLE nodes ADD COLUMN away_reason text NOT NULL DEFAULT '';  -- empty: it is just not there
ALTER TABLE nodes ADD CONSTRAINT away_for_a_reason CHECK (away_reason = '' OR NOT connected);

-- As before, with that.
CREATE OR REPLACE VIEW fleet_nodes WITH (security_invoker = true) AS
    SELECT n.id, n.site_id, n.family, n.fault, n.draining, n.drain_reason, n.connected,
        site.away AS site_away, n.topology IS NOT NULL AS discovered,
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
        FROM slots s WHERE s.node_id = n.id) AS held;

-- A release that cannot end, because the node does not prove cleanup, is abandoned by an operator:
-- the lease no longer counts as held, its slots stay claimed until they are proven clean. Who did
-- it, why, and what was known then, stays: no role may change or delete it.
CREATE TABLE abandonments (
    allocation_id text COLLATE "C" PRIMARY KEY REFERENCES allocations,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES tenants,
    by            text NOT NULL,
    reason        text NOT NULL CHECK (reason <> ''),
    evidence      jsonb NOT NULL,  -- what was last seen of the lease, its slots and its node
    at            timestamptz NOT NULL
);
SELECT wall_off('abandonments');
GRANT SELECT ON abandonments TO {app};
GRANT SELECT, INSERT ON abandonments TO {system};

ALTER TABLE allocations ADD COLUMN abandoned_at timestamptz;
ALTER TABLE allocations ADD CONSTRAINT abandoned_while_releasing CHECK (
    abandoned_at IS NULL OR (placed_at IS NOT NULL AND desired = 'released'));

-- A lease is abandoned once, with its evidence, and is so from then on.
CREATE FUNCTION abandoned_with_evidence() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.abandoned_at IS NOT NULL
        OR NOT EXISTS (SELECT FROM abandonments b
            WHERE b.allocation_id = NEW.id AND b.at = NEW.abandoned_at
                AND b.tenant_id = NEW.tenant_id) THEN
        RAISE integrity_constraint_violation USING MESSAGE = format(
            '%s: it is abandoned once, and with its evidence', NEW.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER abandoned_with_evidence BEFORE UPDATE ON allocations
    FOR EACH ROW WHEN (OLD.abandoned_at IS DISTINCT FROM NEW.abandoned_at)
    EXECUTE FUNCTION abandoned_with_evidence();
CREATE TRIGGER abandoned_with_evidence_at_once BEFORE INSERT ON allocations
    FOR EACH ROW WHEN (NEW.abandoned_at IS NOT NULL)
    EXECUTE FUNCTION abandoned_with_evidence();
REVOKE EXECUTE ON FUNCTION abandoned_with_evidence FROM PUBLIC;  -- firing needs no right

-- As before; and an abandoned lease counts no longer, though its slots are not free.
CREATE OR REPLACE FUNCTION count_gpus_held() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO gpus_held AS h (tenant_id, organization_id, project_id, family, gpus, nodes)
        SELECT p.tenant_id, p.organization_id, p.id, a.family, sum(a.gpus),
            count(*) FILTER (WHERE a.shape = 'baremetal')
        FROM after_rows a JOIN projects p ON p.id = a.project_id
        WHERE a.node_id IS NOT NULL AND a.freed_at IS NULL AND a.abandoned_at IS NULL
        GROUP BY p.id, a.family ORDER BY p.id, a.family
        ON CONFLICT (project_id, family)
        DO UPDATE SET gpus = h.gpus + excluded.gpus, nodes = h.nodes + excluded.nodes;
        RETURN NULL;
    END IF;
    -- Most updates change nothing that counts, and then write nothing. Where anything shrinks
    -- there is a row already; the two halves never touch the same row.
    WITH counted AS (
        SELECT project_id, family, gpus, (shape = 'baremetal')::int AS nodes FROM after_rows
        WHERE node_id IS NOT NULL AND freed_at IS NULL AND abandoned_at IS NULL
        UNION ALL
        SELECT project_id, family, -gpus, -(shape = 'baremetal')::int FROM before_rows
        WHERE node_id IS NOT NULL AND freed_at IS NULL AND abandoned_at IS NULL
    ), change AS (
        SELECT project_id, family, sum(gpus) AS gpus, sum(nodes) AS nodes FROM counted
        GROUP BY project_id, family HAVING sum(gpus) <> 0 OR sum(nodes) <> 0
    ), given_back AS (
        UPDATE gpus_held h SET gpus = h.gpus + c.gpus, nodes = h.nodes + c.nodes FROM change c
        WHERE h.project_id = c.project_id AND h.family = c.family AND (c.gpus < 0 OR c.nodes < 0)
    )
    INSERT INTO gpus_held AS h (tenant_id, organization_id, project_id, family, gpus, nodes)
    SELECT p.tenant_id, p.organization_id, p.id, c.family, c.gpus, c.nodes
    FROM change c JOIN projects p ON p.id = c.project_id
    WHERE c.gpus >= 0 AND c.nodes >= 0 ORDER BY p.id, c.family
    ON CONFLICT (project_id, family)
    DO UPDATE SET gpus = h.gpus + excluded.gpus, nodes = h.nodes + excluded.nodes;
    RETURN NULL;
END $$;

CREATE OR REPLACE VIEW invariant_gpus_held_out_of_step WITH (security_invoker = true) AS
    SELECT project_id, family FROM gpus_held h FULL JOIN (
        SELECT project_id, family, sum(gpus) AS gpus,
            count(*) FILTER (WHERE shape = 'baremetal') AS nodes
        FROM allocations
        WHERE node_id IS NOT NULL AND freed_at IS NULL AND abandoned_at IS NULL
        GROUP BY project_id, family
    ) AS truth USING (project_id, family)
    WHERE (coalesce(h.gpus, 0), coalesce(h.nodes, 0))
        <> (coalesce(truth.gpus, 0), coalesce(truth.nodes, 0));

-- Who is abandoned is not metered, and has its evidence; and nobody else has any.
CREATE VIEW invariant_abandoned_out_of_step WITH (security_invoker = true) AS
    SELECT a.id FROM allocations a FULL JOIN abandonments b ON b.allocation_id = a.id
    WHERE a.abandoned_at IS DISTINCT FROM b.at
        OR a.abandoned_at IS NOT NULL AND (a.observed IN ('nothing', 'active') OR EXISTS (
            SELECT FROM usage_segments u
            WHERE u.allocation_id = a.id AND upper_inf(u.during)));
GRANT SELECT ON invariant_abandoned_out_of_step TO {system};
