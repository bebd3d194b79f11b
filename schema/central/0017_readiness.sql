-- What of a node's last evidence did not pass. Nothing new is placed on it until a later one passes.
ALTER TABLE nodes ADD COLUMN unready text NOT NULL DEFAULT '';  -- in words; empty: all passed

-- As before, with that.
CREATE OR REPLACE VIEW fleet_nodes WITH (security_invoker = true) AS
    SELECT n.id, n.site_id, n.family, n.fault, n.draining, n.drain_reason, n.connected,
        site.away AS site_away, n.topology IS NOT NULL AS discovered,
        coalesce(n.leaf_assigned, n.leaf) AS leaf, n.tags || site.tags AS tags, n.reserved_for,
        n.price_micros_per_gpu_hour, held.*, n.unready
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
