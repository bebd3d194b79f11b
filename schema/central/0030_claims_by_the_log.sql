-- A claim is made by the line of the fleet's log that places its lease, and its fence is that line's
-- revision. So every claim is in the log that replicas follow, a later claim of a slot has a higher
-- fence, and no replica has to know fences. (Those from before counted the claims of one slot, all of
-- them lines of the log, so they are lower.)

-- Fences grow with time: entries go to the end of this index, wherever the slots are. It was the
-- other way round, a thirtieth of the price of a placement, more with each lease that ever was.
ALTER TABLE claims DROP CONSTRAINT claims_pkey;
ALTER TABLE claims ADD PRIMARY KEY (fence, slot_id);

-- What a line says is so: its lease is there, with these slots, on this node, at the node's site, of
-- this tenant; and the slots are the node's. Asked once for all lines of a statement. Nothing can break
-- it later: no role may delete what is referred to, or change where it is or whose.
CREATE FUNCTION make_claims() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT l.allocation_id INTO stray FROM added l
    WHERE l.kind = 'claim' AND (
        NOT l.slot_ids <@ ARRAY(SELECT s.id FROM slots s WHERE s.node_id = l.node_id)
        OR (SELECT (a.node_id, a.tenant_id, a.site_id, a.slot_ids = l.slot_ids COLLATE "C")
                FROM allocations a WHERE a.id = l.allocation_id)
            IS DISTINCT FROM (SELECT (l.node_id, l.tenant_id, n.site_id, true) FROM nodes n
                WHERE n.id = l.node_id))
    LIMIT 1;
    IF FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s: its line of the log, its slots and it are not on one node', stray.allocation_id);
    END IF;
    INSERT INTO claims (slot_id, fence, allocation_id, tenant_id, node_id, claimed_at)
    SELECT slot, l.revision, l.allocation_id, l.tenant_id, l.node_id, l.at
    FROM added l, unnest(l.slot_ids) AS slot WHERE l.kind = 'claim';
    RETURN NULL;
END $$;
CREATE TRIGGER make_claims AFTER INSERT ON fleet_changes REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION make_claims();

-- Nothing else makes one.
CREATE FUNCTION claims_by_the_log() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    RAISE integrity_constraint_violation USING
        MESSAGE = 'a claim is made by its line of the fleet''s log, and by nothing else';
END $$;
CREATE TRIGGER claims_by_the_log BEFORE INSERT ON claims
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION claims_by_the_log();
REVOKE EXECUTE ON FUNCTION make_claims, claims_by_the_log FROM PUBLIC;  -- firing needs no right
DROP TRIGGER claims_refer ON claims;
DROP FUNCTION claims_refer;

-- As before, without fences: a slot is free if no claim of it is live.
DROP VIEW fleet_nodes;
CREATE VIEW fleet_nodes WITH (security_invoker = true) AS
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
            array_agg(NOT EXISTS (SELECT FROM claims c WHERE c.slot_id = s.id AND c.freed_at IS NULL)
                ORDER BY s.kind DESC, s.index) AS free
        FROM slots s WHERE s.node_id = n.id) AS held;
GRANT SELECT ON fleet_nodes TO {system};
