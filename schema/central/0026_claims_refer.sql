-- A claim's slot and its allocation are both on the claim's node, which is at the allocation's
-- site: asked once for all that a statement inserts, and for all slots of an allocation together.
-- Each slot by itself was a tenth of the price of a placement, and is now a fifteenth.
CREATE OR REPLACE FUNCTION claims_refer() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT c.allocation_id INTO stray
    FROM (SELECT allocation_id, tenant_id, node_id, array_agg(slot_id) AS slot_ids
        FROM added GROUP BY allocation_id, tenant_id, node_id) AS c
    WHERE NOT c.slot_ids <@ ARRAY(SELECT s.id FROM slots s WHERE s.node_id = c.node_id)
        OR (SELECT (a.node_id, a.tenant_id, a.site_id) FROM allocations a
                WHERE a.id = c.allocation_id)
            IS DISTINCT FROM (SELECT (c.node_id, c.tenant_id, n.site_id) FROM nodes n
                WHERE n.id = c.node_id)
    LIMIT 1;
    IF FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s: its claims, their slots and it are not on one node', stray.allocation_id);
    END IF;
    RETURN NULL;
END $$;
